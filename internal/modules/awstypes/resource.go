package awstypes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	gosync "sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
)

// resource is the objects of one type.
type resource struct {
	clients *aws.Clients
	t       *cfn.Type
	learn   func(ctx context.Context, typeName string, columns []string) error

	lock gosync.Mutex
	// fixed are the columns that turned out to be fixed at creation. The engine has another description of the table
	// from its next cycle on, by which a change of them replaces the object.
	fixed map[string]bool
}

// Table implements [modules.Resource].
func (r *resource) Table() *modules.Table { return r.t.Table }

// Relates implements [modules.Relater].
func (r *resource) Relates() []string {
	names := make([]string, len(r.t.Relates))
	for i, of := range r.t.Relates {
		if names[i] = of; Native(of) != "" {
			names[i] = Native(of)
		}
	}
	return names
}

// Can says what the type has handlers for.
func (r *resource) Can() modules.Abilities {
	has := r.t.Schema.Handlers
	return modules.Abilities{Create: has["create"], Update: has["update"], Delete: has["delete"]}
}

// client returns the client of a scope.
func (r *resource) client(ctx context.Context, scope modules.Scope, waited bool) (*cloudcontrol.Client, error) {
	return r.clientOf(ctx, r.clients.Waited(waited), scope)
}

// permitted returns the client of a mutation.
func (r *resource) permitted(ctx context.Context, m *modules.Mutation) (*cloudcontrol.Client, error) {
	return r.clientOf(ctx, r.clients.Permitted(m.Permit), m.Scope)
}

func (r *resource) clientOf(ctx context.Context, clients *aws.Clients, scope modules.Scope) (*cloudcontrol.Client,
	error) {
	if r.t.Table.Reach == modules.PerAccount {
		region, err := home(ctx, clients, scope, r.t.Name)
		if err != nil {
			return nil, err
		}
		scope.Region = region
	}
	return aws.Client(ctx, clients, scope, func(cfg awssdk.Config) *cloudcontrol.Client {
		return cloudcontrol.NewFromConfig(cfg)
	})
}

// home returns the region in which a type is reached whose objects belong to none, in the
// account's partition (AWS General Reference, "AWS service endpoints").
func home(ctx context.Context, clients *aws.Clients, scope modules.Scope, typeName string) (string, error) {
	usual, err := clients.DefaultRegion(ctx, scope)
	switch {
	case err != nil:
		return "", err
	case strings.HasPrefix(usual, "us-gov-"):
		return "us-gov-west-1", nil
	case strings.HasPrefix(usual, "cn-"):
		return "cn-north-1", nil
	case strings.HasPrefix(usual, "eusc-"):
		return usual, nil
	}
	return cfn.Home(typeName), nil
}

// Get implements [modules.Resource]: one call an object.
func (r *resource) Get(ctx context.Context, asked modules.GetRequest) ([]modules.Observation, error) {
	identifiers := make([]string, 0, len(asked.Identities))
	for _, identity := range asked.Identities {
		if identifier, ok := r.t.Identifier(identity); ok {
			identifiers = append(identifiers, identifier)
		}
	}
	client, err := r.client(ctx, asked.Scope, asked.Waited)
	if err != nil {
		return nil, err
	}
	rows, err := r.read(ctx, client, identifiers, false, asked.Read)
	return observations(rows), err
}

// observations returns rows with what they show of their objects.
func observations(rows []modules.Row) []modules.Observation {
	all := modules.Observe(rows...)
	for i, row := range rows {
		all[i].Manager = aws.ManagedBy(row)
		delete(row, aws.MarkTags)
	}
	return all
}

// read reads the objects with these identifiers; those that are not there are left out. With
// each, one that cannot be read is told of, and does not hide the others. done is told of
// each that was read, unless it is nil.
func (r *resource) read(ctx context.Context, client *cloudcontrol.Client, identifiers []string, each bool,
	done func()) ([]modules.Row, error) {
	var (
		lock   gosync.Mutex
		rows   []modules.Row
		unread modules.Unread
	)
	err := aws.Each(ctx, aws.Breadth, identifiers, func(ctx context.Context, identifier string) error {
		row, err := r.readOne(ctx, client, identifier)
		if done != nil {
			done()
		}
		lock.Lock()
		defer lock.Unlock()
		switch {
		case modules.NotPermitted(err), each && err != nil && modules.ClassOf(err) == modules.Invalid:
			unread.Objects = append(unread.Objects, modules.UnreadObject{Identity: r.t.Identity(identifier), Err: err})
		case err != nil:
			return err
		case row != nil:
			rows = append(rows, row)
		}
		return nil
	})
	if err == nil && len(unread.Objects) > 0 {
		err = &unread
	}
	return rows, err
}

// readOne reads an object; nil if AWS says that there is none.
func (r *resource) readOne(ctx context.Context, client *cloudcontrol.Client, identifier string) (modules.Row, error) {
	out, err := client.GetResource(ctx, &cloudcontrol.GetResourceInput{TypeName: &r.t.Name, Identifier: &identifier})
	if aws.HasCode(err, codeNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := out.ResourceDescription
	if d == nil || d.Properties == nil {
		return nil, &modules.Error{Class: modules.Transient, Code: "NoProperties", Message: "the answer to a read of " +
			identifier + " has no properties"}
	}
	row, err := r.t.Row(identifier, *d.Properties)
	if err != nil {
		return nil, &modules.Error{Class: modules.Invalid, Code: "Properties", Message: err.Error(), Err: err}
	}
	return row, nil
}

// Create implements [modules.Creator].
func (r *resource) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	properties, err := r.t.Properties(m.Want)
	if err != nil {
		return nil, err
	}
	desired, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	client, err := r.permitted(ctx, &m)
	if err != nil {
		return nil, err
	}
	event, err := r.begun(ctx, client, m.Pending)
	if event == nil && err == nil {
		event, err = r.begin(ctx, client, &m, string(desired))
	}
	if err == nil {
		event, err = r.wait(ctx, client, event)
	}
	if err != nil {
		return r.made(ctx, client, event, err)
	}
	identity := r.t.Identity(awssdk.ToString(event.Identifier))
	if _, whole := r.t.Table.Key(identity); whole {
		return identity, nil
	}
	row, err := r.readOne(ctx, client, awssdk.ToString(event.Identifier))
	if err == nil && row == nil {
		err = &modules.Error{Class: modules.MayHaveHappened, Code: "NotVisible",
			Message: "was made, and cannot be read yet"}
	}
	return row, err
}

// begun returns how far the request is that an earlier call of this creation has begun; nil
// if none is known. AWS remembers requests for seven days ("GetResourceRequestStatus"), and
// client tokens for a day and a half ("CreateResource"): without the one, the other would
// not keep a second creation from making a second object.
func (r *resource) begun(ctx context.Context, client *cloudcontrol.Client,
	request string) (*types.ProgressEvent, error) {
	if request == "" {
		return nil, nil
	}
	out, err := client.GetResourceRequestStatus(ctx,
		&cloudcontrol.GetResourceRequestStatusInput{RequestToken: &request})
	switch {
	case aws.HasCode(err, "RequestTokenNotFoundException"):
		return nil, &modules.Error{Class: modules.MayHaveHappened, Code: "RequestForgotten", Err: err,
			Message: fmt.Sprintf("AWS does not remember the request %s any more, by which the object was to be made: "+
				"if it is there, delete this record and insert one with its identifier", request)}
	case err != nil:
		return nil, err
	}
	return out.ProgressEvent, nil
}

// begin has an object made, and notes the request.
func (r *resource) begin(ctx context.Context, client *cloudcontrol.Client, m *modules.Mutation,
	desired string) (*types.ProgressEvent, error) {
	out, err := client.CreateResource(ctx,
		&cloudcontrol.CreateResourceInput{TypeName: &r.t.Name, DesiredState: &desired, ClientToken: &m.Token})
	if err != nil {
		return nil, err
	}
	if err := note(ctx, m.Permit, out.ProgressEvent); err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

// note notes the request that an event is of.
func note(ctx context.Context, p *modules.Permit, event *types.ProgressEvent) error {
	if event == nil || event.RequestToken == nil {
		return nil
	}
	if err := p.Note(ctx, *event.RequestToken); err != nil {
		return &modules.Error{Class: modules.MayHaveHappened, Message: err.Error(), Err: err}
	}
	return nil
}

// Ended implements [modules.Follower]. Of a request that AWS has forgotten nothing is under
// way any more.
func (r *resource) Ended(ctx context.Context, scope modules.Scope, request string) (bool, error) {
	client, err := r.client(ctx, scope, false)
	if err != nil {
		return false, err
	}
	out, err := client.GetResourceRequestStatus(ctx,
		&cloudcontrol.GetResourceRequestStatusInput{RequestToken: &request})
	switch {
	case aws.HasCode(err, "RequestTokenNotFoundException"):
		return true, nil
	case err != nil:
		return false, err
	case out.ProgressEvent == nil:
		return false, nil
	}
	switch out.ProgressEvent.OperationStatus {
	case types.OperationStatusSuccess, types.OperationStatusFailed, types.OperationStatusCancelComplete:
		return true, nil
	}
	return false, nil
}

// Update implements [modules.Updater].
func (r *resource) Update(ctx context.Context, m modules.Mutation) error {
	have, want, columns := m.Have, m.Want, m.Columns
	if err := r.renewed(columns); err != nil {
		return err
	}
	client, err := r.permitted(ctx, &m)
	if err != nil {
		return err
	}
	failure := r.update(ctx, client, have, want, columns)
	if !notUpdatable(failure) {
		return failure
	}
	// Which of them it is AWS does not say: each is tried by itself.
	fixed := columns
	if len(columns) > 1 {
		fixed = nil
		for _, column := range columns {
			switch err := r.update(ctx, client, have, want, []string{column}); {
			case notUpdatable(err):
				fixed = append(fixed, column)
			case err != nil:
				return err
			}
		}
	}
	return r.learnt(ctx, fixed, failure)
}

// notUpdatable reports whether AWS has said that a property cannot be changed in place.
func notUpdatable(err error) bool {
	return aws.HasCode(err, string(types.HandlerErrorCodeNotUpdatable)) || aws.HasCode(err, "NotUpdatableException")
}

// learnt remembers columns that turned out to be fixed at creation. That a change of them
// replaces the object nobody could know who asked for it: a person says so once.
func (r *resource) learnt(ctx context.Context, columns []string, failure error) error {
	if len(columns) == 0 {
		return nil
	}
	if r.learn != nil {
		if err := r.learn(ctx, r.t.Name, columns); err != nil {
			return err
		}
		r.lock.Lock()
		defer r.lock.Unlock()
		if r.fixed == nil {
			r.fixed = map[string]bool{}
		}
		for _, column := range columns {
			r.fixed[column] = true
		}
	}
	return &modules.Error{Class: modules.Invalid, Code: "NotUpdatable", Err: failure,
		Message: fmt.Sprintf("AWS cannot change %s in place, which its schema does not say: iasql_retry('%s', id) "+
			"replaces the object, and so does every later change", strings.Join(columns, ", "), r.t.Table.Name)}
}

// renewed leaves a change of a column that has turned out to be fixed to the next cycle, which knows that: whoever asks
// for the replacement while the cycle that has found it out still runs must not have to ask twice.
func (r *resource) renewed(columns []string) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, column := range columns {
		if r.fixed[column] {
			return &modules.Error{Class: modules.Transient, Code: "Renewed",
				Message: fmt.Sprintf("AWS cannot change %s in place: the next cycle replaces the object", column)}
		}
	}
	return nil
}

// update changes columns by one call.
func (r *resource) update(ctx context.Context, client *cloudcontrol.Client, have, want modules.Row,
	columns []string) error {
	patch, err := r.t.Patch(have, want, columns)
	if err != nil || patch == "" {
		return err
	}
	identifier, ok := r.t.Identifier(have)
	if !ok {
		return errors.New("the object has no identifier")
	}
	out, err := client.UpdateResource(ctx,
		&cloudcontrol.UpdateResourceInput{TypeName: &r.t.Name, Identifier: &identifier, PatchDocument: &patch})
	if err != nil {
		return r.misses(err)
	}
	_, err = r.wait(ctx, client, out.ProgressEvent)
	return err
}

// misses says what can be done where AWS misses what it cannot read itself: it applies a
// patch to what a read shows, in which what is write-only is missing, and does not take in a
// patch what is fixed at creation (hashicorp/terraform-provider-awscc, issues 1591 and 2138).
func (r *resource) misses(err error) error {
	fixed := r.t.FixedSecrets()
	if len(fixed) == 0 || modules.ClassOf(err) != modules.Invalid || !strings.Contains(err.Error(), "required key [") {
		return err
	}
	return &modules.Error{Class: modules.Invalid, Code: "Unreadable", Err: err,
		Message: fmt.Sprintf("%v. AWS changes objects of this type only together with what it cannot read and does "+
			"not take again (%s): to have it otherwise, delete the record and insert it again", err,
			strings.Join(fixed, ", "))}
}

// Delete implements [modules.Deleter].
func (r *resource) Delete(ctx context.Context, m modules.Mutation) error {
	identifier, ok := r.t.Identifier(m.Have)
	if !ok {
		return errors.New("the object has no identifier")
	}
	client, err := r.permitted(ctx, &m)
	if err != nil {
		return err
	}
	out, err := client.DeleteResource(ctx,
		&cloudcontrol.DeleteResourceInput{TypeName: &r.t.Name, Identifier: &identifier})
	if aws.HasCode(err, codeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := note(ctx, m.Permit, out.ProgressEvent); err != nil {
		return err
	}
	_, err = r.wait(ctx, client, out.ProgressEvent)
	if aws.HasCode(err, string(handlerNotFound)) {
		return nil
	}
	return err
}
