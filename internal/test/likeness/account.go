package likeness

import (
	"fmt"
	"strings"
	"sync/atomic"

	"iasql/internal/aws"
	"iasql/internal/test/faultproxy"
)

// DeniedRegion is a region that a service control policy denies ("Example SCPs: Deny access to
// AWS based on the requested AWS Region" in the AWS Organizations User Guide; the words are
// those of "Access denied error message examples" in the IAM User Guide).
type DeniedRegion struct{ Region string }

// Apply implements [Rule].
func (r DeniedRegion) Apply(c Call) faultproxy.Fault {
	if c.Region != r.Region || c.Service == "sts" || c.Service == "iam" {
		return faultproxy.Fault{}
	}
	return denied(c, "with an explicit deny in a service control policy")
}

// DeniedBucket is a bucket whose own policy keeps everybody out ("Access denied error message
// examples" in the IAM User Guide). It is listed all the same.
type DeniedBucket struct{ Name string }

// Apply implements [Rule].
func (r DeniedBucket) Apply(c Call) faultproxy.Fault {
	_, path, query := c.rest()
	if bucket, _ := bucketOf(path); c.Service != "s3" || bucket != r.Name || query.Has("location") {
		return faultproxy.Fault{} // listings tell where buckets are, and nobody asks them
	}
	return denied(c, "with an explicit deny in a resource-based policy")
}

// denied refuses a call in the form of its service.
func denied(c Call, why string) faultproxy.Fault {
	message := fmt.Sprintf("User: arn:aws:iam::123456789012:user/engine is not authorized to perform: %s:%s %s",
		c.Service, c.Action, why)
	switch {
	case c.Service == "ec2": // "Error codes for the Amazon EC2 API"
		return faultproxy.Fault{Status: 403, Code: "UnauthorizedOperation",
			Message: "You are not authorized to perform this operation. " + message}
	case c.Service == "s3" || c.Service == "route53" || c.Service == "cloudfront" || c.Params.Get("Action") != "":
		return faultproxy.Fault{Status: 403, Code: "AccessDenied", Message: message}
	case c.Header.Get("X-Amz-Target") != "":
		return faultproxy.Fault{Status: 400, Code: "AccessDeniedException", Message: message}
	}
	return faultproxy.Fault{Status: 403, Code: "AccessDeniedException", Message: message}
}

// Session is the session of the credentials, which may expire (IAM User Guide,
// "Troubleshooting"; "Error codes for the Amazon EC2 API"; S3's "Error responses").
type Session struct{ expired atomic.Bool }

// Expire ends the session; Renew begins another.
func (r *Session) Expire() { r.expired.Store(true) }

// Renew begins another session.
func (r *Session) Renew() { r.expired.Store(false) }

// Apply implements [Rule].
func (r *Session) Apply(c Call) faultproxy.Fault {
	switch {
	case !r.expired.Load():
		return faultproxy.Fault{}
	case c.Service == "ec2":
		return refusal(400, "RequestExpired", "Request has expired.")
	case c.Service == "s3":
		return refusal(400, "ExpiredToken", "The provided token has expired.")
	case c.Header.Get("X-Amz-Target") != "":
		return refusal(400, "ExpiredTokenException", "The security token included in the request is expired")
	}
	return refusal(403, "ExpiredToken", "The security token included in the request is expired")
}

// OwnTags keeps tags whose keys begin with aws: to AWS ("Tag your AWS resources": naming
// limits; the codes are those of the services' pages).
type OwnTags struct{}

// Apply implements [Rule].
func (OwnTags) Apply(c Call) faultproxy.Fault {
	if aws.IsRead(c.Action) || !strings.Contains(c.Body, "aws") {
		return faultproxy.Fault{}
	}
	for name, values := range c.Params {
		if strings.HasSuffix(name, ".Key") && strings.HasPrefix(values[0], "aws:") {
			return refusal(400, "InvalidParameterValue",
				"Value ( %s ) for parameter key is invalid. Tag keys starting with 'aws:' are reserved for "+
					"internal use", values[0])
		}
	}
	if strings.Contains(c.Body, `"Key":"aws:`) || strings.Contains(c.Body, "<Key>aws:") && c.Service != "s3" {
		return refusal(400, "ValidationException", "aws: prefixed tag key names are not allowed for external use.")
	}
	return faultproxy.Fault{}
}
