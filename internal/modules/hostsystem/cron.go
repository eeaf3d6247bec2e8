package hostsystem

import (
	"encoding/json"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// The columns of host_cron.
const columnCommand, columnSchedule, columnUser, columnEnvironment = "command", "schedule", "user_name", "environment"

var cronTable = table("host_cron",
	"The entries of the files in /etc/cron.d that a row of host_scope of the kind cron names. Comments and all other "+
		"lines stay as they are. A file with a line that rows do not say, or with two entries of one command, is left "+
		"alone, and iasql_problems says so. A file goes with its last entry, unless it has comments.",
	modules.Column{Name: columnFile, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
		Check: "file ~ '" + runner.CronName + "'",
		Doc:   "The name of the file. cron reads none with a dot in its name."},
	modules.Column{Name: columnCommand, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
		Check: `command ~ '^[^[:space:][:cntrl:]]([^[:cntrl:]]*[^[:space:][:cntrl:]])?$' AND ` +
			`octet_length(command) <= 990`,
		Doc: "What is run, by /bin/sh. % stands for a new line, as crontab(5) has it. No two entries of a file have " +
			"one command."},
	modules.Column{Name: columnSchedule, Type: modules.TypeText, Required: true,
		Check: `schedule ~ '^(@[a-z]+|[^[:space:]@]+( [^[:space:]]+){4})$'`,
		Doc:   "When: five fields such as 5 4 * * mon-fri, or @reboot, @hourly, @daily, @weekly, @monthly, @yearly."},
	modules.Column{Name: columnUser, Type: modules.TypeText, Required: true, Default: "'root'",
		Check: "user_name ~ '" + runner.AccountName + "'", Doc: "Whom it is run as."},
	modules.Column{Name: columnEnvironment, Type: modules.TypeJSON, EmptyIsNull: true,
		Check: `jsonb_typeof(environment) = 'object' AND ` +
			`NOT jsonb_path_exists(environment, '$.* ? (@.type() <> "string")')`,
		Doc: "What the file sets before the entry: {\"MAILTO\": \"ops\", \"PATH\": \"/usr/bin:/bin\"}. It can be " +
			"changed of the only entry of a file; one that is added to a file has what that sets at its end, and " +
			"maybe more."})

func cron(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Cron]{Reader: hosts.Reader[runner.Cron]{Hosts: h, Of: cronTable,
		Kind: hosts.Kind[runner.Cron]{Name: runner.KindCron, Scope: runner.KindCron, Key: (*runner.Cron).Name,
			Scoped: func(c *runner.Cron) string { return c.File }},
		Row: func(c *runner.Cron) modules.Row {
			r := modules.Row{columnFile: modules.Text(c.File), columnCommand: modules.Text(c.Command),
				columnSchedule: modules.TextPtr(c.Schedule), columnUser: modules.TextPtr(c.User)}
			r[columnEnvironment] = modules.Null
			if c.Environment != nil {
				r[columnEnvironment] = modules.StringMap(*c.Environment)
			}
			return r
		},
		Thing: func(r modules.Row, columns []string) *runner.Cron {
			given := hosts.Given{Row: r, Columns: columns}
			c := &runner.Cron{File: r[columnFile].String(), Command: r[columnCommand].String(),
				Schedule: given.Chosen(columnSchedule), User: given.Chosen(columnUser)}
			if text := given.Text(columnEnvironment); text != nil {
				set := map[string]string{}
				_ = json.Unmarshal([]byte(*text), &set) // "" is none, and users write none that is no map of texts
				c.Environment = &set
			}
			return c
		}}}
}
