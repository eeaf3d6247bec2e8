package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/aws/permissions"
	"iasql/internal/modules"
	"iasql/internal/modules/awstypes"
)

func iamPolicyCommand() *cobra.Command {
	var c permissions.Options
	cmd := &cobra.Command{
		Use:   "iam-policy [MODULE…]",
		Short: "Print the IAM policy that modules need: least privilege, made from their own calls.",
		Long: "Print the IAM policy that these modules and those that they depend on need, or all modules: least " +
			"privilege, made from their own calls. " +
			"Of a resource type, such as AWS::SES::Template or iam_policy (AWS::IAM::ManagedPolicy), the account's " +
			"registry says what its handlers need: it is asked with the credentials of the environment.",
		RunE: func(cmd *cobra.Command, names []string) error { return iamPolicy(cmd.Context(), names, c) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&c.ReadOnly, "read-only", false, "Only what reads: enough for mode TRACK and for previews.")
	flags.StringSliceVar(&c.Roles, "assume-role", nil,
		"`ARN` of a role that aws_account.role_arn names, which the engine's own credentials are to assume.")
	flags.StringSliceVar(&c.Watch, "watch", nil,
		"`ARN` of a queue that aws_event_source names, or of a trail's folder (arn:aws:s3:::bucket/prefix): what "+
			"reading it takes.")
	return cmd
}

// iamPolicy prints the IAM policy document of these modules.
func iamPolicy(ctx context.Context, wanted []string, options permissions.Options) error {
	source := &awstypes.Source{Clients: aws.New(aws.Options{Endpoint: os.Getenv("AWS_ENDPOINT_URL")})}
	var types []string
	var modulesOnly []string
	for _, name := range wanted {
		if known := cfn.KnownAs(name); known != "" {
			name = known
		}
		if source.Names(name) {
			types = append(types, name)
		} else {
			modulesOnly = append(modulesOnly, name)
		}
	}
	if len(types) > 0 && len(modulesOnly) == 0 {
		modulesOnly = []string{"aws_account"}
	}
	registry, err := descriptions()
	if err != nil {
		return err
	}
	list := registry.Of(aws.Provider)
	if len(modulesOnly) > 0 {
		if list, err = registry.Closure(modulesOnly...); err != nil {
			return unknownModule(registry, modulesOnly, err)
		}
	}
	var names []string
	for _, m := range list {
		if m.Provider() != aws.Provider {
			return fmt.Errorf("module %s calls nothing of AWS's, and needs no policy: leave it out", m.Name)
		}
		names = append(names, m.Name)
	}
	doc, err := permissions.Policy(names, options)
	if err != nil {
		return err
	}
	for _, name := range types {
		handlers, err := source.Permissions(ctx, modules.Scope{}, name)
		if err != nil {
			return err
		}
		doc.AddType(name, handlers, options)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// unknownModule says what there is, and what is meant by the first of these names that is none.
func unknownModule(registry *modules.Registry, wanted []string, err error) error {
	var known, all []string
	for _, m := range registry.Of(aws.Provider) {
		known = append(known, m.Name)
	}
	all = slices.Clone(known)
	for _, n := range registry.TypeNames() {
		all = append(all, n.Name)
	}
	for _, name := range wanted {
		if registry.Module(name) != nil {
			continue
		}
		nearest := slices.MinFunc(all, func(a, b string) int {
			return levenshtein.ComputeDistance(name, a) - levenshtein.ComputeDistance(name, b)
		})
		return fmt.Errorf("%w: did you mean %s? There are: %s, resource types (AWS::SES::Template), and those that "+
			"have a name (iasql_type_names)", err, nearest, strings.Join(known, ", "))
	}
	return err
}
