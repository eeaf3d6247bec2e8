package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/awstypes"
	"iasql/internal/permissions"
)

func iamPolicyCommand() *cobra.Command {
	var c permissions.Options
	cmd := &cobra.Command{
		Use:   "iam-policy [MODULE…]",
		Short: "Print the IAM policy that modules need: least privilege, made from their own calls.",
		Long: "Print the IAM policy that these modules and those that they depend on need, or all modules: least " +
			"privilege, made from their own calls. " +
			"Of a resource type, such as AWS::SES::Template, the account's registry says what its handlers need: it " +
			"is asked with the credentials of the environment.",
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
	modulesOnly := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool {
		if source.Names(name) {
			types = append(types, name)
		}
		return source.Names(name)
	})
	if len(types) > 0 && len(modulesOnly) == 0 {
		modulesOnly = []string{"aws_account"}
	}
	registry, err := descriptions()
	if err != nil {
		return err
	}
	list := registry.Modules()
	if len(modulesOnly) > 0 {
		if list, err = registry.Closure(modulesOnly...); err != nil {
			var known []string
			for _, m := range registry.Modules() {
				known = append(known, m.Name)
			}
			return fmt.Errorf("%w; there are: %s", err, strings.Join(known, ", "))
		}
	}
	var names []string
	for _, m := range list {
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
