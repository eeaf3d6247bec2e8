package runner

import (
	"fmt"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// rebootedAt has when the host was last rebooted by [Reboot]: it is the host's own, so that no engine, and no number of
// engines, reboots it more often than it may be.
const rebootedAt = "/var/lib/iasql-runner/rebooted"

// rebootEvery is how seldom a host is rebooted.
const rebootEvery = time.Hour

// rebooting is held while it is found out whether the host may be rebooted, and until that is begun.
var rebooting sync.Mutex

// reboot begins a reboot, and keeps before that it has been begun.
func (t *tree) reboot(now time.Time) error {
	if err := mustBeRoot("rebooting the host"); err != nil {
		return err
	}
	rebooting.Lock()
	defer rebooting.Unlock()
	b, err := t.openBus()
	if err != nil {
		return err
	}
	defer b.close()
	text, err := t.text(rebootedAt, 100)
	if err != nil {
		return err
	}
	if err := mayReboot(text, now); err != nil {
		return err
	}
	if err := t.put(rebootedAt, now.UTC().Format(time.RFC3339), 0o600); err != nil {
		return err
	}
	var job dbus.ObjectPath
	if err := b.ask("StartUnit", []any{&job}, "reboot.target", "replace-irreversibly"); err != nil {
		return busFailure("start", "reboot.target", err)
	}
	return nil
}

// mayReboot says why a host is not rebooted of which that is kept; "" is of one that has never been.
func mayReboot(text string, now time.Time) error {
	if text == "" {
		return nil
	}
	last, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return &Failure{Refused, fmt.Sprintf("%s does not say when the host was rebooted last: remove it", rebootedAt)}
	}
	// A clock that was put back makes it no longer ago.
	if ago := now.Sub(last); ago < rebootEvery && ago > -rebootEvery {
		return &Failure{Refused, fmt.Sprintf("the host was rebooted at %s, and is rebooted once in %s at most: %s has "+
			"that", text, rebootEvery, rebootedAt)}
	}
	return nil
}
