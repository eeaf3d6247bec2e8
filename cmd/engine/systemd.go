package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"iasql/internal/engine"
)

// notifySystemd tells systemd that the engine works and then, until ctx ends, that it still gets on, as sd_notify(3)
// and WatchdogSec= of systemd.service(5) have it. Where systemd has not started the engine it does nothing.
func notifySystemd(ctx context.Context, e *engine.Engine, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		log.Warn("could not tell systemd that the engine works", "error", err)
	}
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("could not read the watchdog's interval", "error", err)
	}
	if interval == 0 {
		return
	}
	go func() {
		ticker := time.NewTicker(interval / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := e.Healthy(); err != nil {
				log.Error("the engine is not well, and systemd is not told that it is", "error", err)
			} else if _, err := daemon.SdNotify(false, daemon.SdNotifyWatchdog); err != nil {
				log.Warn("could not tell systemd that the engine gets on", "error", err)
			}
		}
	}()
}
