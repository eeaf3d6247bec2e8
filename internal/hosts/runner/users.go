package runner

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The kinds of users and of groups.
const (
	KindUser  = "user"
	KindGroup = "group"
)

// User is one of passwd(5).
type User struct {
	Name  string  `json:"name"`
	UID   *int64  `json:"uid,omitempty"`
	Group *string `json:"group,omitempty"` // its primary group, by name, else the number
	Home  *string `json:"home,omitempty"`
	Shell *string `json:"shell,omitempty"`
	Gecos *string `json:"gecos,omitempty"`
	// Locked reports whether the account has expired, so that nobody gets in by it, with whatever; nil if the login may
	// not know.
	Locked *bool `json:"locked,omitempty"`
	// System reports whether the number is one of those that login.defs(5) keeps for the system.
	System *bool `json:"system,omitempty"`
}

// Group is one of group(5).
type Group struct {
	Name    string    `json:"name"`
	GID     *int64    `json:"gid,omitempty"`
	Members *[]string `json:"members,omitempty"` // those beyond the users whose primary group it is
	System  *bool     `json:"system,omitempty"`
}

// accountsTurn is whose turn it is to change accounts: the programs lock the files, and do not wait for each other.
var accountsTurn = &sync.Mutex{}

func init() {
	kinds[KindUser] = &things[User]{what: KindUser, turn: accountsTurn, key: func(u *User) string { return u.Name },
		read: readUsers, difference: userDifference, change: changeUser}
	kinds[KindGroup] = &things[Group]{what: KindGroup, turn: accountsTurn, key: func(g *Group) string { return g.Name },
		read: readGroups, difference: groupDifference, change: changeGroup}
}

const (
	maxAccounts  = 8 << 20 // of a file such as /etc/passwd
	userWithin   = 30 * time.Second
	firstOfUsers = 1000 // the first number that is not the system's, unless login.defs says otherwise
)

// AccountName is what names of users and groups match: what useradd(8) takes.
const AccountName = `^[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?$`

var (
	userName    = regexp.MustCompile(AccountName)
	fieldOfUser = regexp.MustCompile(`^[^:\n\r\x00-\x1f]*$`)
)

func other[T comparable](now, said *T) bool { return now != nil && said != nil && *now != *said }

func userDifference(now, said *User) string {
	switch {
	case other(now.UID, said.UID):
		return "uid"
	case other(now.Group, said.Group):
		return "group"
	case other(now.Home, said.Home):
		return "home"
	case other(now.Shell, said.Shell):
		return "shell"
	case other(now.Gecos, said.Gecos):
		return "gecos"
	case other(now.Locked, said.Locked):
		return "lock"
	}
	return ""
}

func groupDifference(now, said *Group) string {
	switch {
	case other(now.GID, said.GID):
		return "gid"
	case said.Members != nil && !slices.Equal(sorted(*now.Members), sorted(*said.Members)):
		return "members"
	}
	return ""
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// entries returns the fields of each line of a file such as /etc/passwd that has so many at least.
func (t *tree) entries(file string, least int) ([][]string, error) {
	text, err := t.text(file, maxAccounts)
	if err != nil {
		return nil, err
	}
	var all [][]string
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(fields) >= least && fields[0] != "" && !strings.ContainsAny(fields[0][:1], "+-#") {
			all = append(all, fields)
		}
	}
	return all, nil
}

// Where accounts are, and the files that have a line for each of them, too: passwd(5), shadow(5), group(5), gshadow(5).
const (
	passwdFile = "/etc/passwd"
	groupFile  = "/etc/group"
)

var shadowOf = map[string]string{passwdFile: "/etc/shadow", groupFile: "/etc/gshadow"}

// accounts returns the fields of each line of /etc/passwd or /etc/group. It fails if there is none, for no host is
// without: the file has been emptied, or is missing.
func (t *tree) accounts(file string) ([][]string, error) {
	least := map[string]int{passwdFile: 7, groupFile: 4}[file]
	all, err := t.entries(file, least)
	if err == nil && len(all) == 0 {
		err = &Failure{Unspecified, fmt.Sprintf("%s has no line, and no host is without: it is missing or was "+
			"emptied. What it had last is in %s-", file, file)}
	}
	return all, err
}

// halves returns the names that have a line in the shadow of a file and none in the file itself: that has been cut off,
// or somebody is just changing both. There are none if the login may not look.
func (t *tree) halves(file string, all [][]string) map[string]error {
	shadow, err := t.entries(shadowOf[file], 2)
	if err != nil {
		return nil
	}
	known := make(map[string]bool, len(all))
	for _, f := range all {
		known[f[0]] = true
	}
	halves := map[string]error{}
	for _, f := range shadow {
		if !known[f[0]] {
			halves[f[0]] = &Failure{Unspecified, fmt.Sprintf("%s has a line in %s and none in %s: whether it is there "+
				"is unknown. Put the line back, or take away the other (pwck, grpck)", f[0], shadowOf[file], file)}
		}
	}
	return halves
}

// first returns the first number that is not the system's: UID_MIN or GID_MIN of login.defs(5).
func (t *tree) first(setting string) int64 {
	text, err := t.text("/etc/login.defs", 1<<20)
	if err != nil {
		return firstOfUsers
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == setting {
			if n, err := strconv.ParseInt(f[1], 10, 32); err == nil {
				return n
			}
		}
	}
	return firstOfUsers
}

// expired returns the users whose accounts have expired, nil if the login may not know. Of shadow(5) it looks at the
// names and dates alone.
func (t *tree) expired() map[string]bool {
	all, err := t.entries("/etc/shadow", 8)
	if err != nil || len(all) == 0 {
		return nil
	}
	today := time.Now().Unix() / 86400
	gone := make(map[string]bool, len(all))
	for _, f := range all {
		day, err := strconv.ParseInt(f[7], 10, 64)
		gone[f[0]] = err == nil && day >= 0 && day <= today
	}
	return gone
}

func readUsers(t *tree, of *selection, tell func(User), unread func(string, error)) error {
	all, err := t.accounts(passwdFile)
	if err != nil {
		return err
	}
	groups, err := t.names(groupFile)
	if err != nil {
		return err
	}
	for name, why := range t.halves(passwdFile, all) {
		if of.has(name, name) {
			unread(name, why)
		}
	}
	expired, first := t.expired(), t.first("UID_MIN")
	seen := map[string]bool{}
	for _, f := range all {
		if !of.has(f[0], f[0]) || seen[f[0]] {
			continue
		}
		seen[f[0]] = true
		uid, err := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if err != nil || err2 != nil {
			unread(f[0], &Failure{Refused, fmt.Sprintf("the line of user %q in /etc/passwd has no numbers", f[0])})
			continue
		}
		number, group := int64(uid), named(groups, uint32(gid))
		system := number < first
		u := User{Name: f[0], UID: &number, Group: &group, Gecos: &f[4], Home: &f[5], Shell: &f[6], System: &system}
		if gone, known := expired[f[0]]; known {
			u.Locked = &gone
		}
		tell(u)
	}
	return nil
}

func readGroups(t *tree, of *selection, tell func(Group), unread func(string, error)) error {
	all, err := t.accounts(groupFile)
	if err != nil {
		return err
	}
	for name, why := range t.halves(groupFile, all) {
		if of.has(name, name) {
			unread(name, why)
		}
	}
	first := t.first("GID_MIN")
	seen := map[string]bool{}
	for _, f := range all {
		if !of.has(f[0], f[0]) || seen[f[0]] {
			continue
		}
		seen[f[0]] = true
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			unread(f[0], &Failure{Refused, fmt.Sprintf("the line of group %q in /etc/group has no number", f[0])})
			continue
		}
		number := int64(gid)
		system := number < first
		tell(Group{Name: f[0], GID: &number, Members: members(f[3]), System: &system})
	}
	return nil
}

func members(field string) *[]string {
	list := []string{}
	for name := range strings.SplitSeq(field, ",") {
		if name != "" {
			list = append(list, name)
		}
	}
	return &list
}

// logins returns the users that the engine is there as, by name: the runner's own, the one that became it by sudo, and
// root.
func (t *tree) logins() map[string]bool {
	numbers := map[string]bool{"0": true, strconv.Itoa(os.Getuid()): true}
	if by := os.Getenv("SUDO_UID"); by != "" {
		numbers[by] = true
	}
	names := map[string]bool{}
	all, err := t.accounts(passwdFile)
	if err != nil {
		return names
	}
	for _, f := range all {
		if numbers[f[2]] {
			names[f[0]] = true
		}
	}
	return names
}

// account runs a program that changes users or groups.
func (t *tree) account(program string, arguments ...string) error {
	p := t.run(userWithin, "/usr/sbin/"+program, arguments...)
	if p.err == nil {
		return nil
	}
	f := failure(program, "", p.err)
	switch {
	case f.Code != Unspecified:
		return f
	case strings.Contains(p.said, "does not exist"): // a group
		f.Code = NoParent
	case strings.Contains(p.said, "already exists"), strings.Contains(p.said, "not unique"):
		f.Code = Invalid
	case strings.Contains(p.said, "currently used by process"), strings.Contains(p.said, "primary group"):
		f.Code = InUse
	case strings.Contains(p.said, "cannot lock"):
		f.Code = Busy
	case strings.Contains(p.said, "invalid"):
		f.Code = Invalid
	}
	f.Message = program + ": " + p.gist()
	return f
}

// checkName says what is wrong with a name.
func checkName(what, name string) error {
	if userName.MatchString(name) {
		return nil
	}
	return &Failure{Refused, fmt.Sprintf("%q is no name of a %s: it has up to 32 letters, digits, _, - and ., and "+
		"begins with a letter or _", name, what)}
}

func changeUser(t *tree, have, want *User) error {
	of := want
	if of == nil {
		of = have
	}
	if err := checkName(KindUser, of.Name); err != nil {
		return err
	}
	if err := mustBeRoot("changing users"); err != nil {
		return err
	}
	if have != nil && t.logins()[of.Name] {
		return &Failure{Refused, fmt.Sprintf("user %s is root, or the one by which the engine gets in: it is neither "+
			"changed nor deleted", of.Name)}
	}
	if want == nil {
		return t.account("userdel", "--", of.Name)
	}
	for _, field := range []*string{want.Home, want.Shell, want.Gecos, want.Group} {
		if field != nil && !fieldOfUser.MatchString(*field) {
			return &Failure{Refused, fmt.Sprintf("user %s: %q has a colon or a control character", want.Name, *field)}
		}
	}
	if want.Group != nil {
		if err := checkName(KindGroup, *want.Group); err != nil && strings.Trim(*want.Group, "0123456789") != "" {
			return err
		}
	}
	first := t.first("UID_MIN")
	system := want.System != nil && *want.System
	if want.UID != nil && want.System != nil && system != (*want.UID < first) {
		return &Failure{Refused, fmt.Sprintf("user %s: the numbers below %d are the system's, and uid %d is not of "+
			"its kind: leave system or uid NULL", want.Name, first, *want.UID)}
	}
	now, err := kinds[KindUser].(*things[User]).one(t, want.Name)
	if err != nil {
		return err
	}
	var arguments []string
	set := func(option string, value, is *string) {
		if value != nil && (is == nil || *is != *value) {
			arguments = append(arguments, option, *value)
		}
	}
	if now == nil {
		now = &User{Name: want.Name}
		set("--comment", want.Gecos, nil)
		if want.Locked != nil && *want.Locked {
			arguments = append(arguments, "--expiredate", "1970-01-02")
		}
	} else {
		set("--comment", want.Gecos, now.Gecos)
		switch {
		case !other(now.Locked, want.Locked):
		case *want.Locked:
			arguments = append(arguments, "--expiredate", "1970-01-02")
		default:
			arguments = append(arguments, "--expiredate", "")
		}
	}
	set("--gid", want.Group, now.Group)
	set("--home", want.Home, now.Home)
	set("--shell", want.Shell, now.Shell)
	if want.UID != nil && (now.UID == nil || *now.UID != *want.UID) {
		arguments = append(arguments, "--uid", strconv.FormatInt(*want.UID, 10))
	}
	if have != nil {
		if len(arguments) == 0 {
			return nil
		}
		return t.account("usermod", append(arguments, "--", want.Name)...)
	}
	if system {
		arguments = append(arguments, "--system")
	} else {
		arguments = append(arguments, "--create-home")
	}
	return t.account("useradd", append(arguments, "--", want.Name)...)
}

func changeGroup(t *tree, have, want *Group) error {
	of := want
	if of == nil {
		of = have
	}
	if err := checkName(KindGroup, of.Name); err != nil {
		return err
	}
	if err := mustBeRoot("changing groups"); err != nil {
		return err
	}
	now, err := kinds[KindGroup].(*things[Group]).one(t, of.Name)
	if err != nil {
		return err
	}
	if now != nil {
		// What a login may do may hang on a group of its.
		for name := range t.logins() {
			if slices.Contains(*now.Members, name) && (want == nil || want.Members != nil &&
				!slices.Contains(*want.Members, name)) || name == of.Name && want == nil {
				return &Failure{Refused, fmt.Sprintf("user %s of group %s is root, or the one by which the engine "+
					"gets in: it stays in its groups", name, of.Name)}
			}
		}
	}
	if want == nil {
		return t.account("groupdel", "--", of.Name)
	}
	if want.Members != nil {
		all, err := t.entries("/etc/passwd", 7)
		if err != nil {
			return err
		}
		for _, member := range *want.Members {
			if err := checkName(KindUser, member); err != nil {
				return err
			}
			if !slices.ContainsFunc(all, func(f []string) bool { return f[0] == member }) {
				return &Failure{NoParent, fmt.Sprintf("group %s: there is no user %s", want.Name, member)}
			}
		}
	}
	first := t.first("GID_MIN")
	system := want.System != nil && *want.System
	if want.GID != nil && want.System != nil && system != (*want.GID < first) {
		return &Failure{Refused, fmt.Sprintf("group %s: the numbers below %d are the system's, and gid %d is not of "+
			"its kind: leave system or gid NULL", want.Name, first, *want.GID)}
	}
	var arguments []string
	if want.GID != nil && (now == nil || *now.GID != *want.GID) {
		arguments = append(arguments, "--gid", strconv.FormatInt(*want.GID, 10))
	}
	switch {
	case have == nil && system:
		err = t.account("groupadd", append(arguments, "--system", "--", want.Name)...)
	case have == nil:
		err = t.account("groupadd", append(arguments, "--", want.Name)...)
	case len(arguments) > 0:
		err = t.account("groupmod", append(arguments, "--", want.Name)...)
	}
	if err != nil || want.Members == nil || now == nil && len(*want.Members) == 0 ||
		now != nil && slices.Equal(sorted(*now.Members), sorted(*want.Members)) {
		return err
	}
	// gpasswd takes the option's value as it is, and a name that begins with - is none.
	p := t.run(userWithin, "/usr/bin/gpasswd", "--members", strings.Join(sorted(*want.Members), ","), want.Name)
	if p.err != nil {
		return &Failure{Unspecified, "gpasswd: " + p.gist()}
	}
	return nil
}
