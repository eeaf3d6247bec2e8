package aws

import "iasql/internal/modules"

// Examples are what people are shown where there is nothing of AWS yet.
var Examples = modules.Examples{Module: "aws_vpc", TypePattern: "AWS::SES::*",
	WatchEvents: "INSERT INTO aws_event_source (queue) VALUES ('…');"}

// Places are the networks of an account and their parts, as AWS's users draw them.
var Places = modules.Places{Containers: []string{"vpc", "subnet"}, Called: "VPC",
	Through: []string{"db_subnet_group", "subnet_group"}}
