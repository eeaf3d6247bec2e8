package postgres

import (
	gosync "sync"
	"time"

	"iasql/internal/decide"
)

// A database that was restored to an earlier time, or whose standby was promoted without the last commits, does not say
// so itself. A new timeline of its server says that it may have (manual, section 26.3.5). What this process has seen in
// it a moment ago can say that it has not: those rows are there (R30).

// witness is the newest that this process has seen of what was committed. Rows that users and the intent log write are
// committed to disk before anybody sees them.
type witness struct {
	lock             gosync.Mutex
	audit, operation int64
	at               time.Time
}

// memory is how long what was seen is looked for: later it may have been pruned.
const memory = time.Hour

func (w *witness) sawChanges(subjects []*decide.Subject) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, s := range subjects {
		if latest := s.Change.Latest(); latest > w.audit {
			w.audit, w.at = latest, time.Now()
		}
	}
}

func (w *witness) sawOperation(id int64) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if id > w.operation {
		w.operation, w.at = id, time.Now()
	}
}

// newest returns the newest audit row and operation that were seen, 0 where none is looked for any more.
func (w *witness) newest() (audit, operation int64) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if time.Since(w.at) > memory {
		return 0, 0
	}
	return w.audit, w.operation
}

// forget starts anew in a database that has gone back.
func (w *witness) forget() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.audit, w.operation, w.at = 0, 0, time.Time{}
}
