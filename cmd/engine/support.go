package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iasql/internal/doctor"
	"iasql/internal/engine"
	"iasql/internal/support"
)

type supportCmd struct {
	databaseFlag
	Output  string
	Yes     bool
	Show    string
	Metrics string
}

func supportCommand(log **slog.Logger) *cobra.Command {
	var c supportCmd
	cmd := &cobra.Command{
		Use: "support-bundle", Args: cobra.NoArgs,
		Short: "Write what a maintainer asks for when something is wrong into one file, without secrets and names.",
		Long: "Write what a maintainer asks for when something is wrong into one file: versions, settings, " +
			"states, last errors, queues, locks, sizes, the doctor's report of the database.\n" +
			"It has no secrets, no columns of records and no names that people have given. It first prints what the " +
			"file will contain, and asks. Nothing is changed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), *log, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.declare(flags)
	flags.StringVar(&c.Output, "output", "",
		"The `file`: a .tar.gz or a .zip; iasql-support-TIME.tar.gz in this folder if left out.")
	flags.BoolVar(&c.Yes, "yes", false, "Write it without asking.")
	flags.StringVar(&c.Show, "show", "", "Print the part of this `name`, and write nothing.")
	flags.StringVar(&c.Metrics, "metrics", "",
		"`URL` of a running engine's /metrics, which are added; those of the installation are there without.")
	return cmd
}

// run asks on in and progress, and prints to out.
func (c *supportCmd) run(ctx context.Context, log *slog.Logger, in io.Reader, out, progress io.Writer) error {
	began := time.Now()
	if c.Output == "" {
		c.Output = "iasql-support-" + began.UTC().Format("20060102-150405") + ".tar.gz"
	}
	options, err := c.options(log)
	if err != nil {
		return err
	}
	parts, err := support.Gather(ctx, options)
	if err != nil {
		return err
	}
	if c.Show != "" {
		_, err := out.Write(parts[0].Text)
		return err
	}
	fmt.Fprintf(out, "%s will contain:\n", c.Output)
	for _, p := range parts {
		fmt.Fprintf(out, "  %-18s %8d bytes  %s\n", p.Name, len(p.Text), p.What)
		if p.Err != nil {
			fmt.Fprintf(out, "  %-18s %8s        could not be read: %s\n", "", "", printable(p.Err.Error()))
		}
	}
	if !c.Yes {
		if err := c.ask(in, progress); err != nil {
			return err
		}
	}
	if err := support.Write(c.Output, parts); err != nil {
		return err
	}
	fmt.Fprintf(out, "written: %s\n", c.Output)
	return nil
}

// ask fails unless somebody says yes.
func (c *supportCmd) ask(in io.Reader, progress io.Writer) error {
	const look = "nothing was written: look at the parts with --show NAME, and say --yes"
	if file, ok := in.(*os.File); ok {
		if about, err := file.Stat(); err != nil || about.Mode()&os.ModeCharDevice == 0 {
			return errors.New("there is no terminal to ask on, and " + look)
		}
	}
	fmt.Fprintf(progress, "Write it? (engine support-bundle --show NAME prints a part) [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	case "":
		if err != nil {
			return errors.New("there is no terminal to ask on, and " + look)
		}
	}
	return errors.New(look)
}

// options have what this program brings to a bundle.
func (c *supportCmd) options(log *slog.Logger) (support.Options, error) {
	registry, err := descriptions()
	if err != nil {
		return support.Options{}, err
	}
	o := support.Options{Version: strings.TrimSpace(described()), DatabaseURL: c.DatabaseURL, Only: c.Show}
	for _, module := range registry.Modules() {
		o.Tables = append(o.Tables, module.Name)
		for _, t := range module.Tables() {
			o.Tables = append(o.Tables, t.Name)
		}
	}
	o.Extras = append(o.Extras, support.Extra{Name: "engine", What: "this program and this machine",
		Read: func(context.Context) (string, error) {
			return fmt.Sprintf("engine %s\n%s, %s/%s, %d processors\n", o.Version, runtime.Version(), runtime.GOOS,
				runtime.GOARCH, runtime.NumCPU()), nil
		}}, support.Extra{Name: "doctor", What: "the doctor's report of the database",
		Read: func(ctx context.Context) (string, error) {
			report, err := doctor.Run(ctx, doctor.Options{Version: version, Registry: registry,
				DatabaseURL: c.DatabaseURL,
				Connections: engine.Connections(16), Deadline: 10 * time.Second})
			if err != nil {
				return "", err
			}
			var text strings.Builder
			err = report.WriteText(&text)
			return text.String(), err
		}})
	if c.Metrics != "" {
		o.Extras = append(o.Extras, support.Extra{Name: "process", What: "what a running engine tells Prometheus",
			Metrics: true, Read: func(ctx context.Context) (string, error) { return fetch(ctx, c.Metrics) }})
	}
	return o, nil
}

// fetch reads a page of metrics.
func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it is answered by status %d", answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	return string(text), err
}
