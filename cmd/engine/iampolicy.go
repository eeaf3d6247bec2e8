package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"iasql/internal/permissions"
)

type iamPolicyCmd struct {
	Modules    []string
	ReadOnly   bool
	AssumeRole []string
}

func (c *iamPolicyCmd) flags(f *flagSet) {
	f.args, f.argument = &c.Modules, "[<module> ...]"
	f.about = "Modules to be installed; those that they depend on are added. None: all."
	f.yes(&c.ReadOnly, "read-only", false, "", "Only what reads: enough for mode TRACK and for previews.")
	f.several(&c.AssumeRole, "assume-role", "ARN,...", "A role that aws_account.role_arn names, which the engine's own credentials are to assume.")
}

// run prints an IAM policy document.
func (c *iamPolicyCmd) run(context.Context, *slog.Logger) error {
	registry, err := descriptions()
	if err != nil {
		return err
	}
	list := registry.Modules()
	if len(c.Modules) > 0 {
		if list, err = registry.Closure(c.Modules...); err != nil {
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
	doc, err := permissions.Policy(names, permissions.Options{ReadOnly: c.ReadOnly, Roles: c.AssumeRole})
	if err != nil {
		return err
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}
