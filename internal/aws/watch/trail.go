package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"iasql/internal/aws/events"
)

// files are what a trail has delivered.
type files interface {
	// Folders returns the names of the folders within one, at most a thousand.
	Folders(ctx context.Context, within string) ([]string, error)
	// Names returns the names of files in a folder, in order, of those after a name.
	Names(ctx context.Context, folder, after string, most int32) ([]string, error)
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

// How often it is looked for new files, how many are read at a time in each folder, and how
// many events are kept at once.
const (
	trailEvery  = 5 * time.Minute
	filesAtOnce = 200
	keepAtOnce  = 500
)

// A file may come after a later one, and a day's last files on the next day. So files of the
// last hours are looked for again; those that were read are known, in this process by their
// name and otherwise by their events.
const trailOverlap = 2 * time.Hour

// trail reads the files of a trail: AWSLogs/, perhaps an organization's id, and then by
// account, CloudTrail, region and day (CloudTrail User Guide, "Finding your CloudTrail log
// files").
type trail struct {
	watch  *Watch
	source source
	log    *slog.Logger
	files  files
	sorter *sorter
	read   map[string]time.Time // files that were read, and when
	upTo   time.Time            // files of earlier times have been read
	said   string
	now    func() time.Time
}

func newTrail(w *Watch, s source, log *slog.Logger) *trail {
	t := &trail{watch: w, source: s, log: log, files: &s3Files{clients: w.Clients, source: s}, sorter: newSorter(w, s),
		read: map[string]time.Time{}, now: time.Now}
	t.sorter.patient = true
	return t
}

// run reads new files until ctx ends.
func (t *trail) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		if err := t.once(ctx); err != nil && ctx.Err() == nil {
			text := message(err)
			if text != t.said {
				t.log.Warn("the files of a trail cannot be read", "error", err)
				t.said = text
			}
			if err := t.watch.database.failed(ctx, &t.source, text); err != nil {
				t.log.Debug("could not note that a trail cannot be read", "error", err)
			}
			pause(ctx, failures)
			failures++
			continue
		}
		failures, t.said = 0, ""
		select {
		case <-ctx.Done():
		case <-time.After(trailEvery):
		}
	}
}

// once reads the files that have come since the last time.
func (t *trail) once(ctx context.Context) error {
	if t.upTo.IsZero() {
		mark, err := t.watch.database.mark(ctx, &t.source)
		if err != nil {
			return err
		}
		// Of what was before the watch, the last day: for who it was, older events say
		// nothing that can be known (see iasql_internal.attribute).
		if t.upTo, err = time.Parse(time.RFC3339, mark); err != nil {
			t.upTo = t.now().Add(-24 * time.Hour)
		}
	}
	began := t.now()
	h := newBatchOfEvents()
	h.read = true
	folders, err := t.folders(ctx, h.at)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := t.folder(ctx, folder, h); err != nil {
			return err
		}
	}
	if _, err := t.watch.database.keep(ctx, &t.source, h); err != nil {
		return err
	}
	t.upTo = began
	for name, at := range t.read {
		if began.Sub(at) > 2*trailOverlap {
			delete(t.read, name)
		}
	}
	return t.watch.database.setMark(ctx, &t.source, began.Format(time.RFC3339))
}

// folders returns the folders of the days that may have new files.
func (t *trail) folders(ctx context.Context, at time.Time) ([]string, error) {
	root := t.source.Prefix
	if root != "" && !strings.HasSuffix(root, "/") {
		root += "/"
	}
	root += "AWSLogs/"
	accounts, err := t.files.Folders(ctx, root)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, account := range accounts {
		within := []string{root + account + "/"}
		if strings.HasPrefix(account, "o-") { // an organization's
			some, err := t.files.Folders(ctx, root+account+"/")
			if err != nil {
				return nil, err
			}
			within = nil
			for _, a := range some {
				within = append(within, root+account+"/"+a+"/")
			}
		}
		for _, w := range within {
			known, err := t.wants(ctx, w, at)
			if err != nil {
				return nil, err
			}
			if !known {
				continue
			}
			days, err := t.days(ctx, w+"CloudTrail/")
			if err != nil {
				return nil, err
			}
			list = append(list, days...)
		}
	}
	return list, nil
}

// wants reports whether the folder is of an account of the source's, as is known at a time.
func (t *trail) wants(ctx context.Context, folder string, at time.Time) (bool, error) {
	parts := strings.Split(strings.TrimSuffix(folder, "/"), "/")
	name, err := t.watch.accounts.named(ctx, t.watch.database, &t.source, parts[len(parts)-1], at)
	return name != "", err
}

// days returns the folders of an account's regions and of the days since the last time.
func (t *trail) days(ctx context.Context, within string) ([]string, error) {
	regions, err := t.files.Folders(ctx, within)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, region := range regions {
		if t.source.Region != "" && region != t.source.Region {
			continue
		}
		now := t.now().UTC()
		for day := t.upTo.Add(-trailOverlap).UTC().Truncate(24 * time.Hour); !day.After(now); day = day.Add(
			24 * time.Hour) {
			list = append(list, within+region+"/"+day.Format("2006/01/02/"))
		}
	}
	return list, nil
}

// folder reads the new files of a day.
func (t *trail) folder(ctx context.Context, folder string, h *batchOfEvents) error {
	for after := ""; ; {
		names, err := t.files.Names(ctx, folder, after, filesAtOnce)
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, known := t.read[name]; known || t.older(name) {
				continue
			}
			if err := t.file(ctx, name, h); err != nil {
				return err
			}
			t.read[name] = t.now()
		}
		if len(names) < filesAtOnce {
			return nil
		}
		after = names[len(names)-1]
	}
}

// older reports whether a file's name has a time of before those that are looked for:
// …_20260102T0305Z_… is when it was delivered.
func (t *trail) older(name string) bool {
	parts := strings.Split(name, "_")
	i := slices.IndexFunc(parts, func(p string) bool {
		return len(p) == len("20060102T1504Z") && strings.HasSuffix(p, "Z")
	})
	if i < 0 {
		return !strings.HasSuffix(name, ".json.gz") // digests and what else is there
	}
	at, err := time.Parse("20060102T1504Z", parts[i])
	return err == nil && at.Before(t.upTo.Add(-trailOverlap))
}

// errNotRead is why a file is given up that cannot be read as one of CloudTrail's.
var errNotRead = errors.New("a file of the trail cannot be read")

// file reads a file, and keeps what it brings. One that is none of CloudTrail's is counted,
// and does not stop the others.
func (t *trail) file(ctx context.Context, name string, h *batchOfEvents) error {
	body, err := t.files.Open(ctx, name)
	if err != nil {
		return err
	}
	defer body.Close()
	var failure error
	err = events.Records(body, func(e *events.Event) error {
		if failure = t.sorter.event(ctx, h, e); failure != nil {
			return failure
		}
		if len(h.kept) < keepAtOnce {
			return nil
		}
		failure = t.flush(ctx, h)
		return failure
	}, func(error) {})
	if failure != nil {
		return failure
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h.malformed++
		t.log.Warn(errNotRead.Error(), "file", name, "error", fmt.Sprint(err))
	}
	return nil
}

// flush keeps what there is by now.
func (t *trail) flush(ctx context.Context, h *batchOfEvents) error {
	if _, err := t.watch.database.keep(ctx, &t.source, h); err != nil {
		return err
	}
	*h = *newBatchOfEvents()
	h.read = true
	return nil
}
