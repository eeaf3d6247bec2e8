package devenv

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dataDir is the directory of one environment:
//
//	pgdata/          the cluster; belongs to the user PostgreSQL runs as
//	run/             its Unix socket; likewise
//	admin.password   of role postgres; 0600
//	user.password    of role iasql; 0600
//	service.password of role iasql_service; 0600
//	postgres.log     what the server says
//	lock             held while a program runs the cluster
//
// When root starts the environment, the directory itself stays root's own, so
// that the unprivileged user can plant nothing where root reads and writes.
type dataDir struct {
	path  string
	owner owner
	lock  *os.File
}

func (d *dataDir) cluster() string { return filepath.Join(d.path, "pgdata") }
func (d *dataDir) log() string     { return filepath.Join(d.path, "postgres.log") }

// owner is the user that PostgreSQL runs as.
type owner struct {
	name     string
	uid, gid int
	drop     bool // it is not the user this program runs as
}

func (o owner) attr() *syscall.SysProcAttr {
	if !o.drop {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.uid),
		Gid: uint32(o.gid)}} // #nosec G115 -- ids of the system, read from it
}

// findOwner decides who PostgreSQL runs as: this user, but never root (the
// server refuses that). Root gives way to whoever owns the cluster already, else
// to postgres, else to nobody.
func findOwner(cluster string) (owner, error) {
	if uid := os.Geteuid(); uid != 0 {
		return owner{name: userName(uid), uid: uid, gid: os.Getegid()}, nil
	}
	if st, err := os.Stat(cluster); err == nil {
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 {
			return owner{name: userName(int(sys.Uid)), uid: int(sys.Uid), gid: int(sys.Gid), drop: true}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid > 0 {
			return owner{name: name, uid: uid, gid: gid, drop: true}, nil
		}
	}
	return owner{}, failure(ErrDataDirAccess,
		"PostgreSQL cannot run as root and there is no user postgres or nobody: useradd --system postgres")
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", uid)
}

// openDataDir creates what is missing, checks that the owner can reach it, and
// takes the lock.
func openDataDir(path string) (*dataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failure(ErrDataDirAccess, "data directory %s: %v", path, err)
	}
	d := &dataDir{path: path}
	if d.owner, err = findOwner(d.cluster()); err != nil {
		return nil, err
	}
	// Searchable for the owner when that is somebody else, but not readable.
	mode := os.FileMode(0o700)
	if d.owner.drop {
		mode = 0o711
	}
	if err := d.reachable(filepath.Dir(path)); err != nil { // before anything is made
		return nil, err
	}
	if err := mkdirAll(path, mode); err != nil {
		return nil, d.inaccessible(err)
	}
	if d.ours() {
		if err := os.Chmod(path, mode); err != nil {
			return nil, d.inaccessible(err)
		}
	}
	if err := d.reachable(path); err != nil {
		return nil, err
	}
	if err := d.takeLock(); err != nil {
		return nil, err
	}
	return d, nil
}

// ours tells whether the directory serves nothing else: it is empty, or an
// environment was made in it before. Only then is its mode for us to change.
func (d *dataDir) ours() bool {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return false
	}
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == "lock" || e.Name() == "pgdata"
	})
}

// mkdirAll is os.MkdirAll with exactly that mode for what it creates, whatever
// the umask: a /var/lib/iasql made under umask 077 would shut the unprivileged
// user out.
func mkdirAll(path string, mode os.FileMode) error {
	err := os.Mkdir(path, mode)
	switch {
	case err == nil:
		return os.Chmod(path, mode)
	case errors.Is(err, fs.ErrNotExist):
		if err := mkdirAll(filepath.Dir(path), mode); err != nil {
			return err
		}
		// Once more and no more: below /proc the parent is there and nothing
		// can be made in it, which looks the same.
		if err = os.Mkdir(path, mode); err == nil {
			return os.Chmod(path, mode)
		}
	}
	if st, serr := os.Stat(path); serr == nil && st.IsDir() {
		return nil
	}
	return err
}

func (d *dataDir) inaccessible(err error) error {
	return failure(ErrDataDirAccess, "data directory %s cannot be used (%v): choose another with --data-dir", d.path,
		rootCause(err))
}

// reachable fails if the owner may not pass through dir, as far as it exists.
func (d *dataDir) reachable(dir string) error {
	if blocked := blockedAt(dir, d.owner); blocked != "" {
		return failure(ErrDataDirAccess,
			"data directory %s is out of reach for user %s, which PostgreSQL runs as (no access to %s): choose "+
				"another with --data-dir, such as %s",
			d.path, d.owner.name, blocked, DefaultDataDir(filepath.Base(d.path)))
	}
	return nil
}

// blockedAt returns the first directory on the way to path that the owner may
// not pass through, "" when there is none.
func blockedAt(path string, o owner) string {
	if !o.drop {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	dir := "/"
	for _, part := range append([]string{""}, strings.Split(strings.Trim(path, "/"), "/")...) {
		dir = filepath.Join(dir, part)
		st, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		if err != nil {
			return dir
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			continue
		}
		bit := os.FileMode(0o001)
		switch {
		case int(sys.Uid) == o.uid:
			bit = 0o100
		case int(sys.Gid) == o.gid:
			bit = 0o010
		}
		if st.Mode()&bit == 0 {
			return dir
		}
	}
	return ""
}

// takeLock makes this program the only one that runs the cluster. The kernel
// drops the lock when the program ends, however it ends; so whoever gets it may
// take a postmaster that still runs for a stale one.
func (d *dataDir) takeLock() error {
	f, err := os.OpenFile(filepath.Join(d.path, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return d.inaccessible(err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	// A process that this one is just starting has the lock, too, from fork until exec (flock(2)): what has been
	// given back may be had a moment later.
	for n := 0; errors.Is(err, syscall.EWOULDBLOCK) && holder(f) == strconv.Itoa(os.Getpid()) && n < 50; n++ {
		time.Sleep(20 * time.Millisecond)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		holder := holder(f)
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return failure(ErrDataDirInUse,
				"data directory %s is in use by process %s: stop it, or choose another with --data-dir", d.path, holder)
		}
		return d.inaccessible(err)
	}
	d.lock = f
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) // for the message above only
	return nil
}

// holder is the process that has written itself into the lock.
func holder(f *os.File) string {
	text, _ := os.ReadFile(f.Name())
	return strings.TrimSpace(string(text))
}

func (d *dataDir) close() {
	if d.lock != nil {
		_ = d.lock.Close()
	}
}

// mkdirOwned makes a directory that belongs to the owner alone.
func (d *dataDir) mkdirOwned(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return d.inaccessible(err)
	}
	return d.chown(path)
}

// chown gives a tree to the owner unless it is the owner's already.
func (d *dataDir) chown(root string) error {
	if !d.owner.drop {
		return nil
	}
	if st, err := os.Lstat(root); err == nil {
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) == d.owner.uid {
			return nil
		}
	}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, d.owner.uid, d.owner.gid)
	})
	if err != nil {
		return d.inaccessible(err)
	}
	return nil
}

// password returns what a password file holds. When there is none it makes up a
// password, and fresh is true: the role is yet to be told, and then the file kept.
func (d *dataDir) password(name string) (secret string, fresh bool, err error) {
	path := filepath.Join(d.path, name)
	text, err := os.ReadFile(path) // #nosec G304 -- a file of the data directory
	if err == nil && len(strings.TrimSpace(string(text))) > 0 {
		return strings.TrimSpace(string(text)), false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, d.inaccessible(err)
	}
	random := make([]byte, 24)
	_, _ = rand.Read(random) // never fails
	secret = hex.EncodeToString(random)
	return secret, true, nil
}

// keepPassword writes a password file, whole or not at all.
func (d *dataDir) keepPassword(name, secret string) error {
	path := filepath.Join(d.path, name)
	if err := os.WriteFile(path+".new", []byte(secret+"\n"), 0o600); err != nil {
		return d.inaccessible(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return d.inaccessible(err)
	}
	return nil
}
