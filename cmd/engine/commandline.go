package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The command line is read with package flag. Libraries that find a command's
// method by its name (reflect.Value.MethodByName), or that print their help with
// text/template, make the linker keep every exported method of every type: with
// the SDKs of all services the binary was 2.4 times as large, and idle engines
// kept 25 MB more of it in memory.

// command is something that the engine can be told to do.
type command interface {
	// flags declares what the command takes.
	flags(f *flagSet)
	// run does it.
	run(ctx context.Context, log *slog.Logger) error
}

// commands are in the order in which the help shows them.
var commands = []struct {
	name, help string
	make       func() command
}{
	{"dev", "Run everything on this machine: a private PostgreSQL, an AWS emulator, the engine.", func() command { return &devCmd{} }},
	{"serve", "Run the engine against a database.", func() command { return &serveCmd{} }},
	{"migrate", "Bring a database to this engine's version.", func() command { return &migrateCmd{} }},
	{"status", "Say what the installation in a database is doing.", func() command { return &statusCmd{} }},
	{"version", "Print the version.", func() command { return versionCmd{} }},
	{"iam-policy", "Print the IAM policy that modules need: least privilege, made from their own calls.", func() command { return &iamPolicyCmd{} }},
	{"docs", "", func() command { return &docsCmd{} }}, // for make generate, and not in the help
}

// flagSet is a command's flags. Each may have an environment variable, which
// holds unless the flag is given.
type flagSet struct {
	*flag.FlagSet
	list     []*oneFlag
	argument string // how the help calls the arguments; "" for none
	about    string // what the help says of them
	least    int    // number of arguments
	args     *[]string
}

// oneFlag is what the help says of a flag, beyond package flag.
type oneFlag struct {
	name, value, env, help string
	required               bool
	to                     flag.Value
}

func newFlagSet(name string) *flagSet {
	f := &flagSet{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// flagValue is a flag's value, read by a function.
type flagValue struct {
	set   func(string) error
	plain bool // needs no value
}

func (v flagValue) Set(s string) error { return v.set(s) }
func (flagValue) String() string       { return "" }
func (v flagValue) IsBoolFlag() bool   { return v.plain }

func (f *flagSet) add(name, value, env, help string, v flag.Value) *oneFlag {
	f.Var(v, name, help)
	one := &oneFlag{name: name, value: value, env: env, help: help, to: v}
	f.list = append(f.list, one)
	return one
}

// text declares a flag of text; value is its value, or else what to call it.
func (f *flagSet) text(p *string, name, value, env, help string) *oneFlag {
	return f.add(name, value, env, help, flagValue{set: func(s string) error { *p = s; return nil }})
}

// oneOf declares a flag of a few values, the first of which it has.
func (f *flagSet) oneOf(p *string, name, env, help string, values ...string) {
	*p = values[0]
	f.add(name, values[0], env, help, flagValue{set: func(s string) error {
		if !slices.Contains(values, s) {
			return fmt.Errorf("must be one of %s", strings.Join(values, ", "))
		}
		*p = s
		return nil
	}})
}

// number declares a flag of a number.
func (f *flagSet) number(p *int, name string, value int, env, help string) {
	*p = value
	f.add(name, strconv.Itoa(value), env, help, flagValue{set: func(s string) (err error) {
		if *p, err = strconv.Atoi(s); err != nil {
			return errors.New("must be a number")
		}
		return nil
	}})
}

// yes declares a flag that is on or off; one that is on has a --no-… too.
func (f *flagSet) yes(p *bool, name string, value bool, env, help string) {
	*p = value
	set := func(no bool) flagValue {
		return flagValue{plain: true, set: func(s string) error {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return errors.New("must be true or false")
			}
			*p = v != no
			return nil
		}}
	}
	f.add(name, "", env, help, set(false))
	if value {
		f.Var(set(true), "no-"+name, "")
	}
}

// several declares a flag that may be given more than once.
func (f *flagSet) several(p *[]string, name, value, help string) {
	f.add(name, value, "", help, flagValue{set: func(s string) error { *p = append(*p, strings.Split(s, ",")...); return nil }})
}

// read reads a command line, and returns the arguments that are no flags.
func (f *flagSet) read(line []string) (args []string, err error) {
	for len(line) > 0 {
		if err := f.Parse(line); err != nil {
			return nil, err
		}
		rest := f.Args()
		if len(rest) == 0 {
			break
		}
		if n := len(line) - len(rest); n > 0 && line[n-1] == "--" {
			return append(args, rest...), nil
		}
		args, line = append(args, rest[0]), rest[1:]
	}
	return args, nil
}

// environment sets flags from the environment. A variable that is empty counts
// as none.
func (f *flagSet) environment(lookup func(string) string) error {
	for _, one := range f.list {
		if text := lookup(one.env); one.env != "" && text != "" {
			if err := one.to.Set(text); err != nil {
				return fmt.Errorf("%s (--%s): %w", one.env, one.name, err)
			}
		}
	}
	return nil
}

// globals are the flags that every command has.
type globals struct {
	LogLevel string
	LogJSON  bool
}

func (g *globals) flags(f *flagSet) {
	f.oneOf(&g.LogLevel, "log-level", "IASQL_LOG_LEVEL", "Least severe messages to log: debug, info, warn or error.", "info", "debug", "warn", "error")
	f.yes(&g.LogJSON, "log-json", false, "IASQL_LOG_JSON", "Log as JSON rather than text.")
}

// usageError is a command line that cannot be understood.
type usageError struct {
	error
	usage string
}

// helpWanted is returned for --help.
type helpWanted struct{ text string }

func (helpWanted) Error() string { return "help is wanted" }

// parse reads the engine's command line.
func parse(line []string, lookup func(string) string) (command, *globals, error) {
	var names []string
	name, at := "", len(line)
	for i, word := range line {
		if !strings.HasPrefix(word, "-") && (i == 0 || line[i-1] != "--log-level" && line[i-1] != "-log-level") {
			name, at = word, i
			break
		}
	}
	for _, c := range commands {
		if c.name == name && name != "" {
			g, cmd, f := &globals{}, c.make(), newFlagSet(c.name)
			g.flags(f)
			shared := len(f.list)
			cmd.flags(f)
			usage := f.usage("engine "+c.name, c.help, shared)
			bad := func(err error) (command, *globals, error) { return nil, nil, usageError{err, usage} }
			if err := f.environment(lookup); err != nil {
				return bad(err)
			}
			given := map[string]bool{}
			args, err := f.read(slices.Concat(line[:at], line[at+1:]))
			f.Visit(func(x *flag.Flag) { given[x.Name] = true })
			switch {
			case errors.Is(err, flag.ErrHelp):
				return nil, nil, helpWanted{usage}
			case err != nil:
				return bad(err)
			case len(args) > 0 && f.args == nil:
				return bad(fmt.Errorf("unexpected argument %s", args[0]))
			case len(args) < f.least:
				return bad(fmt.Errorf("missing arguments: %s", f.argument))
			}
			if f.args != nil {
				*f.args = args
			}
			for _, one := range f.list {
				if one.required && !given[one.name] && lookup(one.env) == "" {
					return bad(fmt.Errorf("missing flags: --%s=%s (or $%s)", one.name, one.value, one.env))
				}
			}
			return cmd, g, nil
		}
		if c.help != "" {
			names = append(names, c.name)
		}
	}
	f := newFlagSet("engine")
	(&globals{}).flags(f)
	usage := f.usage("engine <command>", "Keeps a cloud account and the tables of a PostgreSQL database equal, in both directions.", len(f.list))
	usage += "\nCommands:\n"
	for _, c := range commands {
		if c.help != "" {
			usage += entry(c.name, c.help, 12)
		}
	}
	usage += "\nRun \"engine <command> --help\" for more information on a command.\n"
	_, err := f.read(line[:at])
	switch {
	case name == "help", errors.Is(err, flag.ErrHelp):
		return nil, nil, helpWanted{usage}
	case err != nil:
		return nil, nil, usageError{err, usage}
	case name != "":
		return nil, nil, usageError{fmt.Errorf("there is no command %s: expected one of %s", name, strings.Join(names, ", ")), usage}
	}
	return nil, nil, usageError{fmt.Errorf("expected one of %s", strings.Join(names, ", ")), usage}
}

// usage is the help; the first flags, as many as shared, are those of every
// command.
func (f *flagSet) usage(name, help string, shared int) string {
	var b strings.Builder
	b.WriteString("Usage: " + name)
	if f.argument != "" {
		b.WriteString(" " + f.argument)
	}
	for _, one := range f.list {
		if one.required {
			fmt.Fprintf(&b, " --%s=%s", one.name, one.value)
		}
	}
	b.WriteString(" [flags]\n\n" + wrap(help, "", "") + "\n")
	if f.argument != "" {
		b.WriteString("Arguments:\n" + entry(f.argument, f.about, 26) + "\n")
	}
	b.WriteString("Flags:\n" + entry("-h, --help", "Show this help.", 26))
	for i, one := range f.list {
		if i == shared {
			b.WriteString("\n")
		}
		left, text := "    --"+one.name, one.help
		if f.Lookup("no-"+one.name) != nil {
			left = "    --[no-]" + one.name
		}
		if one.value != "" {
			left += "=" + one.value
		}
		if one.env != "" {
			text = strings.TrimSuffix(text, ".") + " ($" + one.env + ")."
		}
		b.WriteString(entry(left, text, 26))
	}
	return b.String()
}

// entry is a line of a list in two columns, the first of that width.
func entry(left, text string, width int) string {
	left = fmt.Sprintf("  %-*s  ", width, left)
	indent := strings.Repeat(" ", width+4)
	if len(left) > len(indent) {
		return left + "\n" + wrap(text, indent, indent)
	}
	return wrap(text, left, indent)
}

// wrap breaks text into lines of at most 80 characters.
func wrap(text, first, indent string) string {
	var b strings.Builder
	line := first
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > 79 && strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}

// start reads the command line and the environment; it ends the process where
// they ask for help, or cannot be understood.
func start() (command, *globals) {
	cmd, g, err := parse(os.Args[1:], os.Getenv)
	var help helpWanted
	var wrong usageError
	switch {
	case errors.As(err, &help):
		fmt.Print(help.text)
		os.Exit(0)
	case errors.As(err, &wrong):
		fmt.Fprint(os.Stderr, wrong.usage+"\nengine: error: "+wrong.Error()+"\n")
		os.Exit(2)
	}
	return cmd, g
}
