package aws

import (
	"context"
	"slices"
	"sync"

	"iasql/internal/modules"
)

// Memberships are the objects of a table each row of which says that something
// is a member of a list that something else has, such as the security groups of
// an instance. The cloud reads and sets whole lists, of an owner that exists
// already.
type Memberships struct {
	Description *modules.Table
	Clients     *Clients
	// Owner and Member are the two columns, which are the identity.
	Owner, Member string
	// Lists gives the lists that are asked for to page.
	Lists func(ctx context.Context, r MembersRequest, page func([]MemberList) error) error
	// Set makes want the list's members, by clients that are permitted to.
	Set func(ctx context.Context, c *Clients, scope modules.Scope, have MemberList, want []string) error
	// Standard returns the member that the cloud puts into a list that has to
	// have one; nil where lists can be empty. Another member takes its place,
	// and the last to leave gives it back.
	Standard func(ctx context.Context, scope modules.Scope, list MemberList) (string, error)

	locks sync.Map // of lists being changed: scope and owner → *sync.Mutex
}

// MembersRequest is what [Memberships.Lists] is asked.
type MembersRequest struct {
	Scope  modules.Scope
	Owners []string // whose lists; nil: of all that there are
	Waited bool     // as in [modules.ListRequest], as is Memo
	Memo   *modules.Memo
}

// MemberList is a list of members.
type MemberList struct {
	Owner   string
	VPC     string   // of the owner, for Standard
	Subnets []string // of the owner, where they are set together with the list
	Members []string
}

// GroupColumn is the member in tables that DescribeGroups describes.
const GroupColumn = "security_group_id"

// DescribeGroups describes a table of the security groups that objects of
// another table have. Of the column with their owner, name, doc and reference are
// to be given, and of the calls that touch it those that make or delete no owner.
func DescribeGroups(name, doc string, owner modules.Column, mappings ...modules.EventMapping) *modules.Table {
	owner.Type, owner.Required, owner.Identity, owner.CreateOnly = modules.TypeBigint, true, true, true
	owner.References.Part = modules.PartAlong
	return &modules.Table{
		Name:          name,
		Doc:           doc,
		Provider:      Provider,
		Reach:         modules.PerRegion,
		Creation:      modules.ByName,
		EventMappings: mappings,
		Columns: Regional(owner,
			modules.Column{Name: GroupColumn, Type: modules.TypeBigint, Required: true, Identity: true,
				CreateOnly: true,
				References: &modules.Reference{Table: "security_group", Key: "group_id"},
				Doc:        "The security group."},
		),
	}
}

// Table returns the description.
func (m *Memberships) Table() *modules.Table { return m.Description }

// List gives every membership of the scope to page.
func (m *Memberships) List(ctx context.Context, r modules.ListRequest, page func([]modules.Observation) error) error {
	asked := MembersRequest{Scope: r.Scope, Waited: r.Waited, Memo: r.Memo}
	return m.Lists(ctx, asked, func(lists []MemberList) error { return page(modules.Observe(m.rows(lists)...)) })
}

// Get reads these memberships.
func (m *Memberships) Get(ctx context.Context, r modules.GetRequest) ([]modules.Observation, error) {
	owners := slices.Compact(slices.Sorted(slices.Values(Column(r.Identities, m.Owner))))
	var rows []modules.Row
	err := m.Lists(ctx, MembersRequest{Scope: r.Scope, Owners: owners, Waited: r.Waited},
		func(lists []MemberList) error {
			rows = append(rows, m.rows(lists)...)
			return nil
		})
	return modules.Observe(Wanted(m.Description, rows, r.Identities)...), err
}

func (m *Memberships) rows(lists []MemberList) []modules.Row {
	var rows []modules.Row
	for _, list := range lists {
		for _, member := range list.Members {
			rows = append(rows, modules.Row{m.Owner: modules.Text(list.Owner), m.Member: modules.Text(member)})
		}
	}
	return rows
}

// Create adds a member to a list.
func (m *Memberships) Create(ctx context.Context, asked modules.Mutation) (modules.Row, error) {
	scope, want := asked.Scope, asked.Want
	member := want[m.Member].String()
	err := m.change(ctx, &asked, want[m.Owner].String(), func(list MemberList) ([]string, error) {
		if slices.Contains(list.Members, member) {
			return list.Members, nil
		}
		if m.Standard != nil && len(list.Members) == 1 {
			standard, err := m.Standard(ctx, scope, list)
			if err != nil {
				return nil, err
			}
			if list.Members[0] == standard {
				return []string{member}, nil
			}
		}
		return append(slices.Clone(list.Members), member), nil
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{m.Owner: want[m.Owner], m.Member: want[m.Member]}, nil
}

// Delete removes a member from a list.
func (m *Memberships) Delete(ctx context.Context, asked modules.Mutation) error {
	scope, have := asked.Scope, asked.Have
	member := have[m.Member].String()
	err := m.change(ctx, &asked, have[m.Owner].String(), func(list MemberList) ([]string, error) {
		if !slices.Contains(list.Members, member) {
			return list.Members, nil
		}
		left := slices.DeleteFunc(slices.Clone(list.Members), func(s string) bool { return s == member })
		if m.Standard == nil || len(left) > 0 || len(list.Members) == 0 {
			return left, nil
		}
		standard, err := m.Standard(ctx, scope, list)
		if err == nil && standard == member {
			err = &modules.Error{Class: modules.Invalid, Code: "LastMember",
				Message: "there has to be one, and this is what the cloud takes when there is no other: add another, " +
					"which takes its place"}
		}
		return []string{standard}, err
	})
	return IfExists(err)
}

// Lock keeps others from changing an owner's list until unlock is called. What
// sets an owner's list with something else of it, reads the list under it.
func (m *Memberships) Lock(scope modules.Scope, owner string) (unlock func()) {
	lock, _ := m.locks.LoadOrStore(scope.String()+"/"+owner, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	return lock.(*sync.Mutex).Unlock
}

// change makes a list what to says. Changes of one list wait for each other,
// since each sets all of it.
func (m *Memberships) change(ctx context.Context, asked *modules.Mutation, owner string,
	to func(MemberList) ([]string, error)) error {
	scope := asked.Scope
	defer m.Lock(scope, owner)()
	var have *MemberList
	err := m.Lists(ctx, MembersRequest{Scope: scope, Owners: []string{owner}}, func(lists []MemberList) error {
		for _, list := range lists {
			if list.Owner == owner {
				have = &list
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case have == nil:
		return &modules.Error{Class: modules.NotFound, Code: "Owner", Message: owner + " does not exist"}
	}
	want, err := to(*have)
	if err != nil || slices.Equal(want, have.Members) {
		return err
	}
	return m.Set(ctx, m.Clients.Permitted(asked.Permit), scope, *have, want)
}
