package aws

import "iasql/internal/modules"

// Examples are what people are shown where there is nothing of AWS yet.
var Examples = modules.Examples{Module: "aws_vpc", TypePattern: "AWS::SES::*",
	WatchEvents: "INSERT INTO aws_event_source (queue) VALUES ('…');"}
