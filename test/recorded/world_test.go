package recorded

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"iasql/internal/aws"
)

// cloud makes clients whose calls the world of their context answers.
type cloud struct {
	byName map[string]operation       // by the service's id and the action
	byType map[reflect.Type]operation // by output
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{byName: map[string]operation{}, byType: map[reflect.Type]operation{}}
	for _, o := range operations(t) {
		c.byName[o.service.id+":"+o.name] = o
		c.byType[o.out] = o
	}
	return c
}

// clients returns clients that never get as far as the network: where the SDK
// would have deserialized an answer, it gets one.
func (c *cloud) clients() *aws.Clients {
	return aws.New(aws.Options{
		Endpoint:    "http://recorded.invalid",
		MaxAttempts: 1,
		Patience:    time.Nanosecond,
		Accounts: func(context.Context, string) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: secret}, nil
		},
		Middleware: func(s *middleware.Stack) error {
			// The input is known at the beginning, and the answer is due at the end.
			note := middleware.InitializeMiddlewareFunc("recorded:input",
				func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
					middleware.InitializeOutput, middleware.Metadata, error,
				) {
					return next.HandleInitialize(context.WithValue(ctx, inputKey{}, in.Parameters), in)
				})
			answer := middleware.DeserializeMiddlewareFunc("recorded:answer",
				func(ctx context.Context, _ middleware.DeserializeInput, _ middleware.DeserializeHandler) (
					out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
				) {
					w := ctx.Value(worldKey{}).(*world)
					out.Result, err = w.answer(awsmiddleware.GetServiceID(ctx)+":"+awsmiddleware.GetOperationName(ctx),
						ctx.Value(inputKey{}))
					return out, metadata, err
				})
			if err := s.Initialize.Add(note, middleware.After); err != nil {
				return err
			}
			return s.Deserialize.Add(answer, middleware.Before)
		},
	})
}

type (
	worldKey struct{}
	inputKey struct{}
)

// world is what operations answer while one recorded answer is replayed.
type world struct {
	cloud    *cloud
	recorded operation
	decode   func() (any, error)
	around   map[string]any // by operation: an output, a pointer, or a function that makes one of an input
	failing  string         // the operation that answers fault
	fault    failure

	mu    sync.Mutex
	asked map[string]bool // operations
}

// set has an operation answered: by an output, or by a function that makes one of
// the input.
func (w *world) set(answer any) error {
	t := reflect.TypeOf(answer)
	if t.Kind() == reflect.Func {
		t = t.Out(0)
	}
	o, ok := w.cloud.byType[t.Elem()]
	if !ok {
		return fmt.Errorf("no operation of a module answers %s", t)
	}
	w.around[o.String()] = answer
	return nil
}

// answer answers an operation: with what was recorded if it is its answer, with
// what was set, or with nothing.
func (w *world) answer(name string, in any) (any, error) {
	o, ok := w.cloud.byName[name]
	if !ok {
		return nil, fmt.Errorf("%s is not called by modules", name)
	}
	w.mu.Lock()
	w.asked[o.String()] = true
	w.mu.Unlock()
	if o.String() == w.failing {
		return nil, w.fault.error()
	}
	if o.String() == w.recorded.String() {
		return w.decode()
	}
	switch set := w.around[o.String()]; {
	case set == nil:
		return reflect.New(o.out).Interface(), nil
	case reflect.TypeOf(set).Kind() == reflect.Func:
		return reflect.ValueOf(set).Call([]reflect.Value{reflect.ValueOf(in)})[0].Interface(), nil
	default: // a copy, in which the SDK notes what it knows of the call
		out := reflect.New(o.out)
		out.Elem().Set(reflect.ValueOf(set).Elem())
		return out.Interface(), nil
	}
}

// error is what the SDK makes of an error that AWS answers.
func (f failure) error() error {
	return &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: f.status, Header: http.Header{}}},
		Err:      &smithy.GenericAPIError{Code: f.shown(), Message: f.message},
	}
}

// identity is what STS answers.
func identity() *sts.GetCallerIdentityOutput {
	return &sts.GetCallerIdentityOutput{Account: awssdk.String(account),
		Arn: awssdk.String("arn:aws:iam::" + account + ":root")}
}

// lastPage makes an answer that of a listing's last page: there is one answer.
func lastPage(out any) {
	v := reflect.ValueOf(out).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name == "IsTruncated" || strings.HasSuffix(name, "Token") ||
			strings.HasSuffix(name, "Marker") {
			v.Field(i).SetZero()
		}
	}
}
