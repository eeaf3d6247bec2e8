package awstypes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
)

// A listing tells identifiers, and seldom more: objects are read one by one. Of many, those
// that have a record are read in turn.

// IsPaced implements [modules.Paced].
func (r *resource) IsPaced() bool { return true }

// List implements [modules.Resource]. Of a type that cannot be listed it shows nothing: what
// has a record is read directly then, as everything is that a listing does not show.
func (r *resource) List(ctx context.Context, asked modules.ListRequest, page func([]modules.Observation) error) error {
	if !r.t.Schema.Handlers["list"] {
		return nil
	}
	client, err := r.client(ctx, asked.Scope, asked.Waited)
	if err != nil {
		return err
	}
	models, err := r.models(ctx, client, asked.Memo)
	if err != nil {
		return err
	}
	var unread modules.Unread
	seen := map[string]bool{}
	for _, model := range models {
		err := list(ctx, client, r.t.Name, model, func(identifiers []string) error {
			identifiers = slices.DeleteFunc(identifiers, func(id string) bool { return seen[id] })
			for _, id := range identifiers {
				seen[id] = true
			}
			identifiers, unchanged := r.due(&asked, identifiers)
			rows, err := r.read(ctx, client, identifiers, true, nil)
			rows = append(rows, unchanged...)
			var some *modules.Unread
			if errors.As(err, &some) {
				unread.Objects = append(unread.Objects, some.Objects...)
			} else if err != nil {
				return err
			}
			return page(observations(rows))
		})
		if err != nil {
			return err
		}
	}
	if len(unread.Objects) > 0 {
		return &unread
	}
	return nil
}

// due returns the identifiers of the objects that are to be read, and of the others the
// identities.
func (r *resource) due(asked *modules.ListRequest, identifiers []string) (read []string, identities []modules.Row) {
	for _, identifier := range identifiers {
		if identity := r.t.Identity(identifier); asked.IsDue(identity) {
			read = append(read, identifier)
		} else {
			identities = append(identities, identity)
		}
	}
	return read, identities
}

// list gives the identifiers of a listing to f, page by page. A type that a region does not
// have has no objects there, and neither has a parent that has gone since it was listed.
func list(ctx context.Context, client *cloudcontrol.Client, typeName string, model map[string]any,
	f func([]string) error) error {
	in := &cloudcontrol.ListResourcesInput{TypeName: &typeName}
	if len(model) > 0 {
		text, err := json.Marshal(model)
		if err != nil {
			return err
		}
		in.ResourceModel = awssdk.String(string(text))
	}
	var failed error // of f
	err := aws.Pages(ctx, cloudcontrol.NewListResourcesPaginator(client, in),
		func(out *cloudcontrol.ListResourcesOutput) error {
			var identifiers []string
			for _, d := range out.ResourceDescriptions {
				if d.Identifier != nil {
					identifiers = append(identifiers, *d.Identifier)
				}
			}
			failed = f(identifiers)
			return failed
		})
	if failed == nil && (aws.HasCode(err, "TypeNotFoundException") || len(model) > 0 &&
		aws.HasCode(err, codeNotFound)) {
		return nil
	}
	return err
}

// models returns what a listing has to be told, once for each parent: nothing, where it
// asks for nothing. Where it is not known what a parameter can be, nothing can be listed.
func (r *resource) models(ctx context.Context, client *cloudcontrol.Client,
	memo *modules.Memo) ([]map[string]any, error) {
	models := []map[string]any{{}}
	for _, p := range r.t.Schema.ListBy {
		values, err := r.values(ctx, client, memo, p)
		if err != nil {
			return nil, fmt.Errorf("list what %s can be: %w", p.Property, err)
		}
		var next []map[string]any
		for _, model := range models {
			for _, value := range values {
				with := maps.Clone(model)
				with[p.Property] = value
				next = append(next, with)
			}
		}
		if len(next) > mostParents {
			return nil, &modules.Error{Class: modules.Invalid, Code: "TooManyParents",
				Message: fmt.Sprintf("%s can only be listed for each %s, of which there are more than %d: insert "+
					"what you need by its identifier", r.t.Name, p.Property, mostParents)}
		}
		models = next
	}
	return models, nil
}

// mostParents is within how many objects those of a type are looked for.
const mostParents = 1000

// values returns what a parameter of a listing can be.
func (r *resource) values(ctx context.Context, client *cloudcontrol.Client, memo *modules.Memo,
	p cfn.Parameter) ([]string, error) {
	if len(p.Values) > 0 {
		return p.Values, nil
	}
	if p.Of == "" || p.Of == r.t.Name {
		return nil, nil
	}
	return parents(ctx, client, memo, p)
}

// parents lists the objects that a parameter names.
func parents(ctx context.Context, client *cloudcontrol.Client, memo *modules.Memo, p cfn.Parameter) ([]string, error) {
	type call struct{ region, of, key string }
	at := call{client.Options().Region, p.Of, p.Key}
	known, ok, done := memo.Claim(ctx, at)
	if ok {
		return known.([]string), nil
	}
	defer done()
	var values []string
	err := list(ctx, client, p.Of, nil, func(identifiers []string) error {
		values = append(values, identifiers...)
		if len(values) > mostParents {
			return &modules.Error{Class: modules.Invalid, Code: "TooManyParents",
				Message: fmt.Sprintf("there are more than %d objects of %s", mostParents, p.Of)}
		}
		return nil
	})
	// A parent that itself can only be listed within others, or that has no listing.
	if aws.HasCode(err, "InvalidRequestException") || aws.HasCode(err, "UnsupportedActionException") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if values, err = keyed(ctx, client, p, values); err != nil {
		return nil, err
	}
	memo.Put(at, values, len(values))
	return values, nil
}

// keyed returns the property by which the parameter names objects with these identifiers.
// Cloud Control does not tell whether that is the identifier itself: it is read where an
// object has it otherwise.
func keyed(ctx context.Context, client *cloudcontrol.Client, p cfn.Parameter, identifiers []string) ([]string, error) {
	values := make([]string, len(identifiers))
	indices := make([]int, len(identifiers))
	for i := range indices {
		indices[i] = i
	}
	err := aws.Each(ctx, aws.Breadth, indices, func(ctx context.Context, i int) error {
		values[i] = identifiers[i]
		out, err := client.GetResource(ctx,
			&cloudcontrol.GetResourceInput{TypeName: &p.Of, Identifier: &identifiers[i]})
		if aws.HasCode(err, codeNotFound) {
			values[i] = ""
			return nil
		}
		if err != nil {
			return err
		}
		var model map[string]any
		if out.ResourceDescription != nil &&
			json.Unmarshal([]byte(awssdk.ToString(out.ResourceDescription.Properties)), &model) == nil {
			if value, ok := model[p.Key].(string); ok {
				values[i] = value
			}
		}
		return nil
	})
	return slices.DeleteFunc(values, func(v string) bool { return v == "" }), err
}
