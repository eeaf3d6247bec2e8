package runner

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// What is below a mount point at which nothing is mounted is not gone, and what is there instead is something else. So
// it is neither read nor written: Unmounted says so of each path.

// expected are the mount points of this machine at which something is to be mounted, as long as the files that say so
// are the same.
var expected struct {
	lock    sync.Mutex
	stamp   string
	folders []string // that have links to units
	points  []string
}

// expectedMounts returns the mount points at which something is to be mounted: those of fstab(5), also of what is
// mounted when somebody asks for it, and those of units of systemd.mount(5) that are enabled. / is none of them.
func expectedMounts() ([]string, error) {
	e := &expected
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.stamp != "" && e.stamp == stampOf(e.folders) {
		return e.points, nil
	}
	wants, _ := filepath.Glob(ownUnits + "/*.wants")
	requires, _ := filepath.Glob(ownUnits + "/*.requires")
	folders := slices.Concat([]string{"/", FstabFile, ownUnits}, wants, requires)
	stamp := stampOf(folders)
	text, err := os.ReadFile(FstabFile)
	if err != nil && !os.IsNotExist(err) {
		return nil, failure("read", FstabFile, err)
	}
	points := pointsOfFstab(string(text))
	for _, folder := range folders[3:] {
		units, _ := filepath.Glob(folder + "/*.mount")
		for _, unit := range units {
			if point := pointOfUnit(path.Base(unit)); point != "/" {
				points = append(points, point)
			}
		}
	}
	e.stamp, e.folders, e.points = stamp, folders, points
	return points, nil
}

// stampOf says whether files of this machine have changed since.
func stampOf(names []string) string {
	var b strings.Builder
	for _, name := range names {
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil {
			fmt.Fprintf(&b, "%s %d %d %v\n", name, st.Ino, st.Size, st.Mtim)
		}
	}
	return b.String()
}

// pointsOfFstab returns the mount points of fstab(5), / left out.
func pointsOfFstab(text string) (points []string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0][0] == '#' || fields[2] == "swap" {
			continue
		}
		if point := path.Clean(unescaped(fields[1])); path.IsAbs(point) && point != "/" {
			points = append(points, point)
		}
	}
	return points
}

// pointOfUnit returns the mount point of a unit of systemd.mount(5), whose name spells it as systemd-escape(1) does.
func pointOfUnit(name string) string {
	var b strings.Builder
	for rest := strings.TrimSuffix(name, ".mount"); rest != ""; {
		if len(rest) >= 4 && rest[:2] == `\x` {
			if n, err := strconv.ParseUint(rest[2:4], 16, 8); err == nil {
				b.WriteByte(byte(n))
				rest = rest[4:]
				continue
			}
		}
		b.WriteString(strings.ReplaceAll(rest[:1], "-", "/"))
		rest = rest[1:]
	}
	return path.Clean("/" + b.String())
}

// within reports whether a path is a directory's, or is in it.
func within(at, dir string) bool {
	return at == dir || strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/")
}

// unmounted fails if a path is at or below a mount point at which nothing is mounted, although something is to be.
func (t *tree) unmounted(name string) error {
	points, err := expectedMounts()
	if err != nil {
		return err
	}
	at := path.Join(t.root, name)
	points = slices.DeleteFunc(slices.Clone(points), func(point string) bool { return !within(at, point) })
	missing, err := notMounted(points)
	if err != nil || len(missing) == 0 {
		return err
	}
	return &Failure{Unmounted, fmt.Sprintf("nothing is mounted at %s, although %s or a unit of systemd says so: what "+
		"there is of %q is unknown, and nothing is changed there. Mount it, or take away what says so",
		missing[0], FstabFile, name)}
}

// unmountedBelow returns the mount points below the root at which nothing is mounted, as paths of the tree.
func (t *tree) unmountedBelow() (map[string]bool, error) {
	points, err := expectedMounts()
	if err != nil {
		return nil, err
	}
	points = slices.DeleteFunc(slices.Clone(points), func(point string) bool { return !within(point, t.root) })
	missing, err := notMounted(points)
	below := make(map[string]bool, len(missing))
	for _, point := range missing {
		below["/"+strings.Trim(strings.TrimPrefix(point, t.root), "/")] = true
	}
	return below, err
}

// notMounted returns those of the mount points at which nothing is mounted. What automounts gets the chance to.
func notMounted(points []string) (missing []string, err error) {
	if len(points) == 0 {
		return nil, nil
	}
	for range 2 {
		there, err := mounted()
		if err != nil {
			return nil, err
		}
		missing = slices.DeleteFunc(slices.Clone(points), func(point string) bool { return there[point] != "" })
		for _, point := range missing {
			if fd, err := unix.Open(point, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
				_ = unix.Close(fd)
			}
		}
		if len(missing) == 0 {
			break
		}
	}
	return missing, nil
}
