package awsorganizations

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/organizations"
	orgtypes "github.com/aws/aws-sdk-go-v2/service/organizations/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newAccount declares the table organization_account.
func newAccount(c *aws.Clients) *declare.Resource {
	text := func(name, member, doc string) declare.Column { return declare.Text(name, member, doc).Computed() }
	return declare.New(c, declare.Table[orgtypes.Account]{
		Name: "organization_account",
		Doc: "The accounts of the organization that an account manages, itself among them. Only read. Other members " +
			"of an organization see none, unless they are its delegated administrators.",
		Service:    declare.Service(organizations.NewFromConfig).InRegion(""),
		PerAccount: true,
		Optional:   true, // other partitions and endpoints may not know the service
		Columns: []declare.Column{
			declare.ID("aws_account_id", "Id", "Its twelve digits, as in aws_account.account_id."),
			text("arn", "Arn", "Its ARN, with the ids of the managing account and the organization."),
			text("name", "Name", "What it is called in the organization."),
			text("email", "Email", "The address of its root user."),
			text("state", "State", "PENDING_ACTIVATION, ACTIVE, SUSPENDED, PENDING_CLOSURE or CLOSED."),
			text("joined_method", "JoinedMethod", "How it came into the organization: CREATED or INVITED."),
			declare.Time("joined_at", "JoinedTimestamp", "When it came."),
			text("path", "", "The ids of all it is in, from the organization down, such as "+
				"o-exampleorgid/r-ab12/ou-ab12-11111111/123456789012/."),
		},
		EventMappings: modules.EventMappings("organizations.amazonaws.com",
			modules.Request("accountId", "MoveAccount", "RemoveAccountFromOrganization", "CloseAccount"),
			modules.Unnamed("CreateAccount", "CreateAccountResult", "AcceptHandshake", "LeaveOrganization",
				"CloseAccountResult"),
		),
		List: declare.ListBy(list),
		Get:  declare.GetBy(some),
		Row: func(_ context.Context, _ *declare.Step, a *orgtypes.Account, row modules.Row) error {
			if row["state"].IsNull() { // where Status is all there is, which went in September 2026
				row["state"] = modules.Text(string(a.Status))
			}
			if len(a.Paths) > 0 {
				row["path"] = modules.Text(a.Paths[0])
			}
			return nil
		},
	})
}

var (
	accounts     = declare.Pages(organizations.NewListAccountsPaginator, "Accounts")
	organization = declare.Call((*organizations.Client).DescribeOrganization, declare.Answer("Organization"))
)

// some lists them all, too: a page has as many as would be asked for.
func some(ctx context.Context, s *declare.Step, identities []modules.Row) (found []orgtypes.Account, err error) {
	ids := aws.Column(identities, "aws_account_id")
	err = list(ctx, s, func(page []orgtypes.Account) error {
		for _, a := range page {
			if slices.Contains(ids, awssdk.ToString(a.Id)) {
				found = append(found, a)
			}
		}
		return nil
	})
	return found, err
}

// list lists the accounts of an organization. Only its managing account, and delegated administrators, may (AWS
// Organizations API Reference, ListAccounts); that any other account is denied says that it has none to list, if the
// organization is another's, which each member may ask (DescribeOrganization).
func list(ctx context.Context, s *declare.Step, page func([]orgtypes.Account) error) error {
	err := declare.Walk(ctx, s, accounts, page)
	switch {
	case aws.HasCode(err, notInUse):
		return page(nil)
	case modules.ClassOf(err) != modules.Denied:
		return err
	}
	answer, failed := s.Ask(ctx, organization, nil)
	if aws.HasCode(failed, notInUse) {
		return page(nil)
	}
	o, ok := answer.(*orgtypes.Organization)
	own, unknown := s.Clients.AccountID(ctx, s.Scope)
	if failed != nil || unknown != nil || !ok || o == nil {
		return err
	}
	if manager := awssdk.ToString(o.MasterAccountId); strings.Trim(manager, "0123456789") != "" || len(manager) != 12 ||
		manager == own {
		return err
	}
	return page(nil)
}

// notInUse is the code of an account that is in no organization.
const notInUse = "AWSOrganizationsNotInUseException"
