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
	undo := flag.String("undo", "", "The `ID` of a trial to undo once its time is over: the runner starts this itself.")
	flag.Parse()
	if *undo != "" {
		if err := runner.Await(*root, *undo); err != nil {
			fmt.Fprintln(os.Stderr, "runner:", err)
			os.Exit(1)
		}
		return
	}
	if err := runner.Serve(os.Stdin, os.Stdout, *root); err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}
