package runner

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Bounds of the extended attributes of one file.
const (
	MaxXattrs     = 64      // how many are told, in the order of their names
	maxXattr      = 4 << 10 // of the value of one
	MaxXattrBytes = 16 << 10
)

// toldXattr reports whether an extended attribute is told of: what users note (user.*), the capabilities of a program,
// the label of SELinux, and access control lists. See xattr(7).
func toldXattr(name string) bool {
	return strings.HasPrefix(name, "user.") || name == "security.capability" || name == "security.selinux" ||
		strings.HasPrefix(name, "system.posix_acl_")
}

// xattrs reads the extended attributes of a name in an open directory; nil if there are none, or they cannot be read. A
// link is not followed. A value that is beyond the bounds is nil.
func xattrs(dir int, last string) map[string]*string {
	// There is no call for a name in a directory (before Linux 6.13), and opening a file takes the right to read it.
	at := "/proc/self/fd/" + strconv.Itoa(dir) + "/" + last
	size, err := unix.Llistxattr(at, nil)
	if err != nil || size == 0 {
		return nil
	}
	list := make([]byte, size)
	n, err := unix.Llistxattr(at, list)
	if err != nil {
		return nil
	}
	names := slices.DeleteFunc(strings.Split(string(list[:n]), "\x00"), func(name string) bool {
		return !toldXattr(name)
	})
	slices.Sort(names)
	all := map[string]*string{}
	value, told := make([]byte, maxXattr), 0
	for _, name := range names[:min(len(names), MaxXattrs)] {
		text := (*string)(nil)
		if n, err := unix.Lgetxattr(at, name, value); err == nil {
			if shown := xattrText(name, value[:n]); told+len(shown) <= MaxXattrBytes {
				text, told = &shown, told+len(shown)
			}
		}
		all[strings.ToValidUTF8(name, "\uFFFD")] = text
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// xattrText spells a value as getfattr(1) does: a text as it is, anything else in base64 after 0s. The NUL at the end
// of a label of SELinux is no part of it.
func xattrText(name string, value []byte) string {
	text := string(value)
	if name == "security.selinux" {
		text = strings.TrimSuffix(text, "\x00")
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.HasPrefix(text, "0s") ||
		strings.HasPrefix(text, "0x") {
		return "0s" + base64.StdEncoding.EncodeToString(value)
	}
	return text
}
