package aws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"iasql/internal/modules"
)

// The Resource Groups Tagging API tells the tags of a hundred objects a call, of
// services that tell those of one ("GetResources", Resource Groups Tagging API
// Reference). It is made here of the SDK's parts: it is one operation, and the client of
// the service would be another package to load.
const (
	taggingService = "Resource Groups Tagging API"
	taggingTarget  = "ResourceGroupsTaggingAPI_20170126."
	taggingPage    = 100 // the most results a page may have
)

// tagging is a client of the Resource Groups Tagging API.
type tagging struct {
	cfg     awssdk.Config
	clients *Clients
}

// getResourcesInput is what GetResources is asked.
type getResourcesInput struct {
	PaginationToken     string   `json:",omitempty"`
	ResourceTypeFilters []string `json:",omitempty"`
	ResourcesPerPage    int      `json:",omitempty"`
}

// getResourcesOutput is what it answers.
type getResourcesOutput struct {
	PaginationToken        string
	ResourceTagMappingList []struct {
		ResourceARN string
		Tags        []struct{ Key, Value string }
	}
}

// TagsOf returns the tags of a region's objects of a type by their ARNs, such as
// sqs:queue or sqs. What is not in it has no tags. It may be late: AWS documents no
// bound for how long a change takes to be seen here.
func (c *Clients) TagsOf(ctx context.Context, scope modules.Scope, kind string) (map[string]map[string]string, error) {
	client, err := Client(ctx, c, scope, func(cfg awssdk.Config) *tagging { return &tagging{cfg, c} })
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]string{}
	in := getResourcesInput{ResourceTypeFilters: []string{kind}, ResourcesPerPage: taggingPage}
	for {
		out, err := client.getResources(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, r := range out.ResourceTagMappingList {
			tags := make(map[string]string, len(r.Tags))
			for _, tag := range r.Tags {
				tags[tag.Key] = tag.Value
			}
			found[r.ResourceARN] = tags
		}
		if in.PaginationToken = out.PaginationToken; in.PaginationToken == "" {
			return found, nil
		}
	}
}

// getResources makes the call, through the same steps as those of the SDK's clients.
func (t *tagging) getResources(ctx context.Context, in getResourcesInput) (*getResourcesOutput, error) {
	const operation = "GetResources"
	stack := middleware.NewStack(operation, smithyhttp.NewStackRequest)
	steps := []error{
		stack.Initialize.Add(&awsmiddleware.RegisterServiceMetadata{Region: t.cfg.Region, ServiceID: taggingService, SigningName: "tagging", OperationName: operation}, middleware.Before),
		stack.Serialize.Add(middleware.SerializeMiddlewareFunc("OperationSerializer", t.serialize), middleware.After),
		smithyhttp.AddComputeContentLengthMiddleware(stack),
		stack.Finalize.Add(retry.NewAttemptMiddleware(t.clients.retryer(), smithyhttp.RequestCloner), middleware.After),
		stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("Signing", t.sign), middleware.After),
		stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("OperationDeserializer", deserialize), middleware.After),
		smithyhttp.AddCloseResponseBodyMiddleware(stack),
	}
	for _, add := range t.cfg.APIOptions {
		steps = append(steps, add(stack))
	}
	for _, err := range steps {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", operation, err)
		}
	}
	out, _, err := middleware.DecorateHandler(smithyhttp.NewClientHandler(t.cfg.HTTPClient), stack).Handle(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.(*getResourcesOutput), nil
}

// taggingSuffixes are the domains of the partitions whose regions begin so (AWS General
// Reference, "Resource Groups Tagging API endpoints"); elsewhere it is amazonaws.com.
var taggingSuffixes = []struct{ prefix, domain string }{
	{"cn-", "amazonaws.com.cn"}, {"us-isob-", "sc2s.sgov.gov"}, {"us-isof-", "csp.hci.ic.gov"}, {"eu-isoe-", "cloud.adc-e.uk"}, {"us-iso-", "c2s.ic.gov"},
	{"eusc-", "amazonaws.eu"},
}

func (t *tagging) endpoint() string {
	if t.cfg.BaseEndpoint != nil {
		return *t.cfg.BaseEndpoint
	}
	domain := "amazonaws.com"
	for _, s := range taggingSuffixes {
		if strings.HasPrefix(t.cfg.Region, s.prefix) {
			domain = s.domain
			break
		}
	}
	return "https://tagging." + t.cfg.Region + "." + domain
}

// serialize writes the request, in AWS's JSON protocol 1.1 (Smithy, "AWS JSON 1.1
// protocol").
func (t *tagging) serialize(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (out middleware.SerializeOutput, metadata middleware.Metadata, err error) {
	body, err := json.Marshal(in.Parameters)
	if err != nil {
		return out, metadata, &smithy.SerializationError{Err: err}
	}
	request := in.Request.(*smithyhttp.Request)
	url, err := request.URL.Parse(strings.TrimSuffix(t.endpoint(), "/") + "/")
	if err != nil {
		return out, metadata, &smithy.SerializationError{Err: err}
	}
	request.URL, request.Method, request.Host = url, http.MethodPost, url.Host
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", taggingTarget+awsmiddleware.GetOperationName(ctx))
	sum := sha256.Sum256(body)
	ctx = v4.SetPayloadHash(ctx, hex.EncodeToString(sum[:]))
	if request, err = request.SetStream(bytes.NewReader(body)); err != nil {
		return out, metadata, &smithy.SerializationError{Err: err}
	}
	in.Request = request
	return next.HandleSerialize(ctx, in)
}

// sign signs the request.
func (t *tagging) sign(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, metadata middleware.Metadata, err error) {
	creds, err := t.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return out, metadata, &v4.SigningError{Err: err}
	}
	request := in.Request.(*smithyhttp.Request)
	if err := v4.NewSigner().SignHTTP(ctx, creds, request.Request, v4.GetPayloadHash(ctx), awsmiddleware.GetSigningName(ctx), t.cfg.Region, time.Now()); err != nil {
		return out, metadata, &v4.SigningError{Err: err}
	}
	return next.HandleFinalize(ctx, in)
}

// deserialize reads the answer.
func deserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (out middleware.DeserializeOutput, metadata middleware.Metadata, err error) {
	out, metadata, err = next.HandleDeserialize(ctx, in)
	if err != nil {
		return out, metadata, err
	}
	response := out.RawResponse.(*smithyhttp.Response)
	if response.StatusCode >= http.StatusMultipleChoices {
		var problem struct {
			Type    string `json:"__type"`
			Message string `json:"message"`
		}
		_ = json.NewDecoder(response.Body).Decode(&problem) // a proxy's answer has none
		_, code, qualified := strings.Cut(problem.Type, "#")
		if !qualified {
			code = problem.Type
		}
		return out, metadata, &smithyhttp.ResponseError{Response: response, Err: &smithy.GenericAPIError{Code: code, Message: problem.Message}}
	}
	answer := &getResourcesOutput{}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return out, metadata, &smithy.DeserializationError{Err: err}
	}
	out.Result = answer
	return out, metadata, nil
}
