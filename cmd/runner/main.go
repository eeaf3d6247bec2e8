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
	dial := flag.String("dial", "", "The `SOCKET` of the host that input and output are connected to.")
	watch := flag.Bool("watch", false, "Say what may have changed of what the one request names, until input ends.")
	flag.Parse()
	if *dial != "" {
		if err := runner.Dial(os.Stdin, os.Stdout, *dial); err != nil {
			os.Exit(1)
		}
		return
	}
	if *undo != "" {
		if err := runner.Await(*root, *undo); err != nil {
			fmt.Fprintln(os.Stderr, "runner:", err)
			os.Exit(1)
		}
		return
	}
	serve := runner.Serve
	if *watch {
		serve = runner.ServeWatch
	}
	if err := serve(os.Stdin, os.Stdout, *root); err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}
