package cfn

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"

	"iasql/internal/modules"
)

// The longest names. PostgreSQL cuts identifiers at 63 bytes; the names of a table's
// sequence and of its functions are some letters longer than its own.
const (
	maxTable  = 54
	maxColumn = 63
)

// TableName returns the name of the table of a type: the one that people know it by, if there
// is one ([Known]), or else service and resource in snake case. The organization goes in front
// unless it is AWS.
//
//	AWS::IAM::ManagedPolicy   iam_policy
//	AWS::SES::Template        ses_template
//	Datadog::Monitors::Monitor datadog_monitors_monitor
func TableName(typeName string) string { return TableNames(typeName)[0] }

// TableNames returns the names that the table of a type can have, the first of which it has
// unless something else has it already. Another type's known name is none of them, if there
// is a longer one.
func TableNames(typeName string) []string {
	parts := strings.Split(typeName, "::")
	for i, p := range parts {
		parts[i] = snake(p)
	}
	full := bounded(strings.Join(parts, "_"), maxTable)
	short := full
	if strings.HasPrefix(typeName, "AWS::") {
		short = bounded(strings.Join(parts[1:], "_"), maxTable)
	}
	var names []string
	for _, k := range Known() {
		if k.Type == typeName {
			names = append(names, k.Name)
		} else if k.Name == short {
			short = full
		}
	}
	return slices.Compact(append(names, short, full))
}

// ColumnName returns the name of the column of a property: the property in snake case. A
// name that SQL or the engine has another use for gets the resource in front:
//
//	SubscriptionDisplayName  subscription_display_name
//	KMSKeyId                 kms_key_id
//	Id of AWS::X::Channel    channel_id
//	Order of AWS::X::Rule    rule_order
func ColumnName(typeName, property string) string {
	name := snake(property)
	if name == "" || unicode.IsDigit(rune(name[0])) || slices.Contains(ours, name) || slices.Contains(reserved, name) {
		resource := snake(typeName[strings.LastIndex(typeName, ":")+1:])
		name = strings.TrimSuffix(resource+"_"+name, "_")
	}
	return bounded(name, maxColumn)
}

// ours are the columns that the engine gives a meaning to.
var ours = []string{modules.ColumnID, modules.ColumnAccount, modules.ColumnRegion, modules.ColumnTags}

// reserved are the words that cannot name a column without quotes (PostgreSQL manual,
// appendix C: reserved, and "reserved (can be function or type)"), and the system columns.
var reserved = strings.Fields(`
	all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column
	concurrently constraint create cross current_catalog current_date current_role current_schema current_time
	current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from
	full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit
	localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references
	returning right select session_user similar some symmetric system_user table tablesample then to trailing true union
	unique user using variadic verbose when where window with
	ctid cmax cmin tableoid xmax xmin`)

// spelt are words that have a capital in them where none begins a word.
var spelt = []string{"IoT", "FSx", "OAuth", "OTel", "DDoS", "ETag", "IdC", "IdP", "QnA", "B2BI", "KiB", "MiB",
	"GiB", "TiB"}

// plain spells such words as others are.
func plain(name string) string {
	for _, word := range spelt {
		for from := 0; ; {
			at := strings.Index(name[from:], word)
			if at < 0 {
				break
			}
			at += from
			from = at + len(word)
			if at > 0 && isUpper(name[at-1]) || from < len(name) && name[from] >= 'a' && name[from] <= 'z' {
				continue // the letters are of other words
			}
			name = name[:at] + word[:1] + strings.ToLower(word[1:]) + name[from:]
		}
	}
	return name
}

func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }

// snake returns a name in snake case: words are told apart by capitals, and a row of
// capitals is one word, also with the s of a plural. Digits belong to the word before them.
// What is no ASCII letter or digit is an underscore.
func snake(name string) string {
	if len(name) > 256 {
		name = bounded(name, 256)
	}
	runes := []rune(plain(name))
	var b strings.Builder
	for i, r := range runes {
		ascii := r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r))
		if !ascii {
			b.WriteByte('_')
			continue
		}
		if unicode.IsUpper(r) && i > 0 && startsWord(runes, i) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	words := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '_' })
	return strings.Join(words, "_")
}

// startsWord reports whether the capital at i starts a word.
func startsWord(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i-1]) {
		return true
	}
	if i+1 >= len(runes) || !unicode.IsLower(runes[i+1]) {
		return false
	}
	// The s of a plural ends a row of capitals: VPCs, ARNsOfRoles.
	plural := runes[i+1] == 's' && (i+2 == len(runes) || !unicode.IsLower(runes[i+2]))
	// IPv4 and IPv6 are words.
	version := runes[i+1] == 'v' && i+2 < len(runes) && unicode.IsDigit(runes[i+2])
	return !plural && !version
}

// bounded returns a name that is no longer than so many bytes: a long one ends in a sum of
// itself, so that two do not become one.
func bounded(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(strings.ToValidUTF8(name[:most-9], ""), "_") + "_" + hex.EncodeToString(sum[:4])
}
