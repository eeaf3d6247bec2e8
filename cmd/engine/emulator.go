package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"iasql/internal/devenv"
)

// correctCommand stands between an SDK and an emulator that runs elsewhere: docker-compose.yml has one in an image of
// its own. "engine dev" needs none.
func correctCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "correct-emulator URL", Short: "Pass requests on to moto, and make of its answers what AWS has.",
		Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return err
			}
			return correctEmulator(cmd.Context(), args[0], listener)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", ":5000", "`ADDRESS` to listen on.")
	fromEnv(flags, "listen", "IASQL_EMULATOR_LISTEN")
	return cmd
}

// correctEmulator serves on a listener until ctx ends.
func correctEmulator(ctx context.Context, emulator string, listener net.Listener) error {
	target, err := url.Parse(emulator)
	if err != nil || target.Host == "" {
		return fmt.Errorf("%q is not the URL of an emulator, such as http://emulator:5000", emulator)
	}
	server := devenv.Correcting(target)
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
