package cloudcontrol

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cc "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/smithy-go"
)

// thing is a type with everything that the fake treats in a way of its own.
const thing = `{
	"typeName": "Test::Service::Thing", "description": "A thing.", "additionalProperties": false,
	"definitions": {"Tag": {"type": "object", "additionalProperties": false, "required": ["Key", "Value"], "properties": {
		"Key": {"type": "string", "minLength": 1}, "Value": {"type": "string"}}}},
	"properties": {
		"Name": {"type": "string", "pattern": "^[a-z-]+$", "maxLength": 20},
		"Size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
		"Color": {"type": "string", "enum": ["red", "green"]},
		"Password": {"type": "string"},
		"Tags": {"type": "array", "items": {"$ref": "#/definitions/Tag"}},
		"Place": {"type": "object", "additionalProperties": false, "properties": {"Zone": {"type": "string"}, "Rack": {"type": "string"}}},
		"Arn": {"type": "string", "pattern": "^arn:aws:service:[a-z0-9-]+:[0-9]{12}:thing/.+$"},
		"Endpoint": {"type": "object", "properties": {"Address": {"type": "string"}}}
	},
	"required": ["Name"], "primaryIdentifier": ["/properties/Name"], "additionalIdentifiers": [["/properties/Arn"]],
	"readOnlyProperties": ["/properties/Arn", "/properties/Endpoint/Address"],
	"createOnlyProperties": ["/properties/Name", "/properties/Place/Zone"],
	"writeOnlyProperties": ["/properties/Password"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}
}`

// part is a type whose objects are listed by their parent.
const part = `{
	"typeName": "Test::Service::Part", "description": "A part of a thing.", "additionalProperties": false,
	"properties": {"ThingName": {"type": "string"}, "Id": {"type": "string", "pattern": "^part-[0-9a-f]{8}$"}, "Note": {"type": "string"}, "Key": {"type": "string"}},
	"required": ["ThingName", "Key"], "primaryIdentifier": ["/properties/ThingName", "/properties/Id"], "readOnlyProperties": ["/properties/Id"],
	"createOnlyProperties": ["/properties/ThingName"], "writeOnlyProperties": ["/properties/Key"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []},
		"list": {"permissions": [], "handlerSchema": {"properties": {"ThingName": {"$ref": "resource-schema.json#/properties/ThingName"}}, "required": ["ThingName"]}}}
}`

// stone is a type that can be neither changed nor listed.
const stone = `{
	"typeName": "Test::Service::Stone", "description": "A stone.", "additionalProperties": false,
	"properties": {"Id": {"type": "string"}, "Weight": {"type": "number"}},
	"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "createOnlyProperties": ["/properties/Weight"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}
}`

const (
	thingName = "Test::Service::Thing"
	partName  = "Test::Service::Part"
	stoneName = "Test::Service::Stone"
)

// world is a fake with a client.
type world struct {
	*testing.T
	*Server
	client *cc.Client
	at     Scope
}

func start(t *testing.T, change func(o *Options)) *world {
	t.Helper()
	t.Parallel()
	o := Options{Schemas: map[string][]byte{thingName: []byte(thing), partName: []byte(part), stoneName: []byte(stone)}}
	if change != nil {
		change(&o)
	}
	s := Start(t, o)
	return &world{t, s, client(s, "AKIACLOUDCONTROL", "us-east-1"), s.Scope("us-east-1")}
}

// client tries every call once.
func client(s *Server, accessKey, region string) *cc.Client {
	cfg := s.ConfigFor(accessKey, region)
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return cc.NewFromConfig(cfg)
}

func (w *world) create(typeName, state string) (*types.ProgressEvent, error) {
	out, err := w.client.CreateResource(w.Context(), &cc.CreateResourceInput{TypeName: &typeName, DesiredState: &state})
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

func (w *world) update(typeName, id, patch string) (*types.ProgressEvent, error) {
	out, err := w.client.UpdateResource(w.Context(),
		&cc.UpdateResourceInput{TypeName: &typeName, Identifier: &id, PatchDocument: &patch})
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

func (w *world) delete(typeName, id string) (*types.ProgressEvent, error) {
	out, err := w.client.DeleteResource(w.Context(), &cc.DeleteResourceInput{TypeName: &typeName, Identifier: &id})
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

func (w *world) status(token *string) *types.ProgressEvent {
	w.Helper()
	out, err := w.client.GetResourceRequestStatus(w.Context(), &cc.GetResourceRequestStatusInput{RequestToken: token})
	if err != nil {
		w.Fatal(err)
	}
	return out.ProgressEvent
}

// ends waits for the end of a request, which must be that status.
func (w *world) ends(e *types.ProgressEvent, err error, want types.OperationStatus) *types.ProgressEvent {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		e = w.status(e.RequestToken)
		switch e.OperationStatus {
		case want:
			return e
		case types.OperationStatusPending, types.OperationStatusInProgress, types.OperationStatusCancelInProgress:
			if time.Now().Before(deadline) {
				continue
			}
		}
		w.Fatalf("%s ended with %s %s: %s", e.Operation, e.OperationStatus, e.ErrorCode, aws.ToString(e.StatusMessage))
	}
}

func (w *world) get(typeName, id string) map[string]any {
	w.Helper()
	out, err := w.client.GetResource(w.Context(), &cc.GetResourceInput{TypeName: &typeName, Identifier: &id})
	if err != nil {
		w.Fatal(err)
	}
	properties, err := decode(*out.ResourceDescription.Properties)
	if err != nil {
		w.Fatal(err)
	}
	return properties
}

func (w *world) list(typeName, model string) []string {
	w.Helper()
	in := &cc.ListResourcesInput{TypeName: &typeName}
	if model != "" {
		in.ResourceModel = &model
	}
	var ids []string
	for pages := cc.NewListResourcesPaginator(w.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		for _, one := range page.ResourceDescriptions {
			ids = append(ids, *one.Identifier)
		}
	}
	return ids
}

// fails checks the code of an error.
func (w *world) fails(err error, code string) smithy.APIError {
	w.Helper()
	var known smithy.APIError
	if !errors.As(err, &known) || known.ErrorCode() != code {
		w.Fatalf("the error is %v, want %s", err, code)
	}
	return known
}

func TestLife(t *testing.T) {
	w := start(t, nil)
	e, err := w.create(thingName, `{"Name": "one", "Password": "secret", "Tags": [{"Key": "a", "Value": "b"}]}`)
	if err != nil || e.OperationStatus != types.OperationStatusInProgress || aws.ToString(e.Identifier) != "one" {
		t.Fatal(e, err)
	}
	w.ends(e, nil, types.OperationStatusSuccess)
	have := w.get(thingName, "one")
	if have["Password"] != nil || text(have["Size"]) != "3" || have["Endpoint"] == nil {
		t.Error(have)
	}
	if w.Secrets(w.at, thingName)["one"]["Password"] != "secret" {
		t.Error("the password is not kept")
	}
	arn := have["Arn"].(string)
	if again := w.get(thingName, `{"Arn": "`+arn+`"}`); text(again["Name"]) != "one" {
		t.Error("not found by its secondary identifier:", again)
	}
	if got := w.list(thingName, ""); !slices.Equal(got, []string{"one"}) {
		t.Error(got)
	}
	e, err = w.update(thingName, "one",
		`[{"op": "replace", "path": "/Size", "value": 5}, {"op": "add", "path": "/Tags/-", "value": {"Key": "c", "Value": "d"}}]`)
	w.ends(e, err, types.OperationStatusSuccess)
	have = w.get(thingName, "one")
	if text(have["Size"]) != "5" || len(have["Tags"].([]any)) != 2 || have["Arn"] != arn {
		t.Error(have)
	}
	if w.Secrets(w.at, thingName)["one"]["Password"] != nil {
		t.Error("a patch without the password leaves it")
	}
	e, err = w.delete(thingName, "one")
	w.ends(e, err, types.OperationStatusSuccess)
	_, err = w.client.GetResource(t.Context(),
		&cc.GetResourceInput{TypeName: aws.String(thingName), Identifier: aws.String("one")})
	w.fails(err, "ResourceNotFoundException")
}
