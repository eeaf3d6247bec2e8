package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"iasql/internal/permissions"
)

type iamPolicyCmd struct {
	Modules    []string `arg:"" optional:"" name:"module" help:"Modules to be installed; those that they depend on are added. None: all."`
	ReadOnly   bool     `help:"Only what reads: enough for mode TRACK and for previews."`
	AssumeRole []string `name:"assume-role" placeholder:"ARN" help:"A role that aws_account.role_arn names, which the engine's own credentials are to assume."`
}

// Run prints an IAM policy document.
func (c *iamPolicyCmd) Run() error {
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
