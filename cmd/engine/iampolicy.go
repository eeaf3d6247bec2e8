package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"iasql/internal/permissions"
)

func iamPolicyCommand() *cobra.Command {
	var c permissions.Options
	cmd := &cobra.Command{
		Use:   "iam-policy [MODULE…]",
		Short: "Print the IAM policy that modules need: least privilege, made from their own calls.",
		Long:  "Print the IAM policy that these modules and those that they depend on need, or all modules: least privilege, made from their own calls.",
		RunE:  func(_ *cobra.Command, names []string) error { return iamPolicy(names, c) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&c.ReadOnly, "read-only", false, "Only what reads: enough for mode TRACK and for previews.")
	flags.StringSliceVar(&c.Roles, "assume-role", nil, "`ARN` of a role that aws_account.role_arn names, which the engine's own credentials are to assume.")
	return cmd
}

// iamPolicy prints the IAM policy document of these modules.
func iamPolicy(wanted []string, options permissions.Options) error {
	registry, err := descriptions()
	if err != nil {
		return err
	}
	list := registry.Modules()
	if len(wanted) > 0 {
		if list, err = registry.Closure(wanted...); err != nil {
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
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}
