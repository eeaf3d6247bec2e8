package economy

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"iasql/internal/test/faultproxy"
)

// recorder answers reads of many accounts with what the emulator answered one of them. The account's id is exchanged,
// also within ARNs. So every account looks as if it held the same objects, with the same ids of VPCs and subnets.
// Writes and the service live are never answered by it.
type recorder struct {
	live string // the service that each account has of its own, as calls sign it

	lock    sync.Mutex
	answers map[string]faultproxy.Answer // with noAccount in place of the account's id
}

// noAccount stands for the id of the caller's account. It is as long as one, so that lengths stay true.
const noAccount = "@@account@@@"

// reading is how the names of reads begin.
var reading = regexp.MustCompile(`^(Describe|List|Get|GET |HEAD )`)

// key tells calls apart that may be answered differently; records is false where the emulator has to answer.
func (r *recorder) key(c faultproxy.Call) (key string, records bool) {
	if c.Service == r.live || !reading.MatchString(c.Action) {
		return "", false
	}
	text := strings.Join([]string{c.Service, c.Region, c.Header.Get("X-Amz-Target"), c.Action, c.Body}, "\n")
	return strings.ReplaceAll(text, accountOf(c), noAccount), true
}

// recorded returns the answer to a call, if the same has been asked for any account.
func (r *recorder) recorded(c faultproxy.Call) (faultproxy.Answer, bool) {
	key, records := r.key(c)
	if !records {
		return faultproxy.Answer{}, false
	}
	r.lock.Lock()
	a, ok := r.answers[key]
	r.lock.Unlock()
	a.Body = bytes.ReplaceAll(a.Body, []byte(noAccount), []byte(accountOf(c)))
	return a, ok
}

// record remembers a good answer of the emulator. The checksum of DynamoDB's answers goes: it is of the original body.
func (r *recorder) record(c faultproxy.Call, a faultproxy.Answer) {
	key, records := r.key(c)
	if !records || a.Status != http.StatusOK {
		return
	}
	a.Header = a.Header.Clone()
	a.Header.Del("X-Amz-Crc32")
	a.Body = bytes.ReplaceAll(a.Body, []byte(accountOf(c)), []byte(noAccount))
	r.lock.Lock()
	defer r.lock.Unlock()
	r.answers[key] = a
}

// The credential scope begins with the access key, and those of package testaws end with the account's id.
var accessKey = regexp.MustCompile(`Credential=[A-Z]+(\d{12})/`)

// accountOf returns the id of the account that a call is signed for.
func accountOf(c faultproxy.Call) string {
	if m := accessKey.FindStringSubmatch(c.Header.Get("Authorization")); m != nil {
		return m[1]
	}
	return ""
}
