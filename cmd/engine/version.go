package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Set by the linker, in releases and by make: the version, the commit, and when that
// was made. What `go build` and `go install` make knows them by itself.
var (
	version = ""
	commit  = ""
	date    = ""
)

func init() {
	if info, ok := debug.ReadBuildInfo(); ok {
		version, commit, date = identify(info, version, commit, date)
	}
}

// identify adds what the build information knows and the linker was not told.
func identify(info *debug.BuildInfo, version, commit, date string) (string, string, string) {
	said := map[string]string{}
	for _, setting := range info.Settings {
		said[setting.Key] = setting.Value
	}
	if version == "" {
		version = strings.TrimPrefix(strings.Trim(info.Main.Version, "()"), "v") // (devel) in a checkout without tags
	}
	if version == "" {
		version = "devel"
	}
	if commit == "" {
		commit = said["vcs.revision"]
		if commit != "" && said["vcs.modified"] == "true" {
			commit += "-dirty"
		}
		if date == "" {
			date = said["vcs.time"]
		}
	}
	return version, commit, date
}

// described is the version with what else is known of the binary.
func described() string {
	about := []string{}
	if commit != "" {
		about = append(about, "commit "+commit)
	}
	if date != "" {
		about = append(about, "of "+date)
	}
	about = append(about, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return version + " (" + strings.Join(about, ", ") + ")"
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version. (--version says more.)", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version) },
	}
}
