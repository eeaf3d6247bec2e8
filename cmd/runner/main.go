// Command runner is what the engine puts on a host: see package runner.
package main

import (
	"flag"
	"fmt"
	"os"

	"iasql/internal/hosts/runner"
)

func main() {
	root := flag.String("root", "/", "The `DIR`ectory below which everything lies.")
	flag.Parse()
	if err := runner.Serve(os.Stdin, os.Stdout, *root); err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}
