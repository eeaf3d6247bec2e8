package recorded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// secret is of the account that the calls are made with.
const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

// TestErrors checks the class and the message of every error.
func TestErrors(t *testing.T) {
	t.Parallel()
	_, all := recordings(t)
	left := map[string]int{}
	byFolder := met(distinct(all, func(f failure) failure { return f }), left)
	calls := operations(t)
	replayed := 0
	for _, s := range services {
		failures := byFolder[s.folder]
		replayed += len(failures)
		mine := slices.DeleteFunc(slices.Clone(calls), func(o operation) bool { return o.service.name != s.name })
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			newReplay(t, s, mine).errors(failures)
		})
	}
	stale(t, all)
	t.Logf("%d errors recorded; %d distinct ones replayed", len(all), replayed)
	for _, why := range slices.Sorted(maps.Keys(left)) {
		t.Logf("left out: %d: %s", left[why], why)
	}
}

// stale checks that everything in the tables was recorded.
func stale(t *testing.T, all []failure) {
	was := map[string]bool{}
	for _, f := range all {
		was[f.folder+":"+f.code] = true
	}
	known := classes()
	for code := range outside {
		known[code] = modules.Invalid
	}
	for _, code := range slices.Sorted(maps.Keys(known)) {
		if !was[code] {
			t.Errorf("%s is listed and was not recorded", code)
		}
	}
}

// met returns the errors that modules could meet, by folder, and counts the others
// by reason.
func met(all []failure, left map[string]int) map[string][]failure {
	byFolder := map[string][]failure{}
	for _, f := range all {
		why := outside[f.folder+":"+f.code]
		if !slices.ContainsFunc(services, func(s service) bool { return s.folder == f.folder }) {
			why = "no module calls the service " + f.folder
		} else if why == "" && f.status == 0 {
			why = "it has no status: a page that was read as a browser does, or an item of a list"
		}
		if why != "" {
			left[why]++
			continue
		}
		byFolder[f.folder] = append(byFolder[f.folder], f)
	}
	return byFolder
}

// replay is a service whose server answers errors.
type replay struct {
	*testing.T
	service service
	server  *faulty
	clients *aws.Clients
	classes map[string]modules.Class
	inputs  map[string]reflect.Value // by operation
	calls   []operation
	rounds  int
}

func newReplay(t *testing.T, s service, calls []operation) *replay {
	r := &replay{T: t, service: s, server: newFaulty(t, s), classes: classes(), inputs: map[string]reflect.Value{},
		calls: calls}
	r.clients = aws.New(aws.Options{Endpoint: r.server.URL, MaxAttempts: 1, Patience: time.Nanosecond,
		Accounts: func(context.Context, string) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: secret}, nil
		}}).Permitted(awstest.Permit())
	return r
}

// errors has every code answered to every operation, and every message to one that
// reads and to one that changes something.
func (r *replay) errors(failures []failure) {
	seen := map[string]bool{}
	for _, f := range failures {
		class, known := expected(r.classes, f)
		if !known {
			r.Errorf("%s:%s: no class is documented for %q (status %d). Add it to the table", f.folder, f.code,
				f.message, f.status)
			continue
		}
		if says := absence.MatchString(f.message); says && class != modules.NotFound && !explained(f) {
			r.Errorf("%s:%s: %q is of class %s. Is something missing?", f.folder, f.code, f.message, class)
		}
		operations := r.some(f)
		if id := f.code + strconv.Itoa(f.status); !seen[id] {
			seen[id], operations = true, r.calls
		}
		asked := 0
		for _, o := range operations {
			if r.one(o, f, class) {
				asked++
			}
		}
		if asked == 0 {
			r.Errorf("%s:%s: no operation could be asked", f.folder, f.code)
		}
	}
}

// absence is how messages say that something is missing.
var absence = regexp.MustCompile(`(?i)(does not|doesn't) exist|not be found|not found`)

// explained reports whether a list says why an error that speaks of something
// missing has another class.
func explained(f failure) bool {
	for _, p := range present {
		if p.code == f.folder+":"+f.code && strings.Contains(f.message, p.message) {
			return true
		}
	}
	return false
}

// some returns an operation that reads and one that changes something.
func (r *replay) some(f failure) []operation {
	var one [2]operation
	for _, o := range r.calls {
		at := 0
		if !aws.IsRead(o.name) {
			at = 1
		}
		if one[at].name == "" && f.of(o.name) {
			one[at] = o
		}
	}
	return slices.DeleteFunc(one[:], func(o operation) bool { return o.name == "" })
}

// one has an operation answered with an error and looks at what the user sees. It
// returns false if the operation has no such answers.
func (r *replay) one(o operation, f failure, class modules.Class) bool {
	if !f.of(o.name) {
		return false
	}
	r.rounds++
	// The engine's rate is per region: that of another error must not slow this one.
	client, err := aws.Client(r.Context(), r.clients,
		modules.Scope{Account: "recorded", Region: "r" + strconv.Itoa(r.rounds%997)}, func(cfg awssdk.Config) any {
			return r.service.build(cfg)
		})
	if err != nil {
		r.Fatal(err)
	}
	r.server.answer.Store(&f)
	before := r.server.requests.Load()
	err = r.ask(o, client)
	if r.server.requests.Load() == before {
		r.Errorf("%s made no request: %v", o, err)
		return false
	}
	if class == modules.Transient && !aws.IsRead(o.name) {
		class = modules.MayHaveHappened
	}
	var e *modules.Error
	switch {
	case !errors.As(err, &e):
		r.Errorf("%s: %s:%s is no error of the engine's: %v", o, f.folder, f.code, err)
	case e.Class != class:
		r.Errorf("%s: %s:%s (status %d, %q) is %s; documented as %s", o, f.folder, f.code, f.status, f.message,
			e.Class, class)
	}
	if e != nil {
		r.readable(o, f, e.Error())
	}
	return true
}

// readable checks what the user sees: AWS's code and its words, on one line.
func (r *replay) readable(o operation, f failure, seen string) {
	code, words := f.shown(), aws.Scrub(f.message)
	if f.isStatus() {
		words = ""
	}
	switch {
	case !strings.Contains(seen, code) &&
		(renamed[f.folder+":"+f.code] == "" || !strings.Contains(seen, renamed[f.folder+":"+f.code])):
		r.Errorf("%s: the code %s is missing from %q", o, code, seen)
	case !strings.Contains(seen, strings.TrimSuffix(words, ".")):
		r.Errorf("%s: %q is missing from %q", o, words, seen)
	case strings.ContainsAny(seen, "\r\n"):
		r.Errorf("%s: more than one line: %q", o, seen)
	case strings.Contains(seen, secret), strings.Contains(seen, "Signature="):
		r.Errorf("%s: a secret is in %q", o, seen)
	}
}

// ask makes a call with the least input that the SDK takes.
func (r *replay) ask(o operation, client any) error {
	in, ok := r.inputs[o.name]
	if !ok {
		in = reflect.New(o.in)
		r.inputs[o.name] = in
	}
	method := reflect.ValueOf(client).MethodByName(o.name)
	for round := 0; ; round++ {
		out := method.Call([]reflect.Value{reflect.ValueOf(r.Context()), in})
		err, _ := out[1].Interface().(error)
		var missing smithy.InvalidParamsError
		if !errors.As(err, &missing) || round > 5 {
			return err
		}
		for _, one := range missing.Errs() {
			if param, ok := one.(smithy.InvalidParamError); ok {
				_, path, _ := strings.Cut(param.Field(), ".")
				supply(in.Elem(), path)
			}
		}
	}
}

var indexed = regexp.MustCompile(`^(\w+)\[\d+\]$`)

// supply fills the member at a path: "Tagging.TagSet[0].Key".
func supply(v reflect.Value, path string) {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		if m := indexed.FindStringSubmatch(name); m != nil {
			name = m[1]
		}
		v = v.FieldByName(name)
		if v.Kind() == reflect.Slice && path != "" {
			v = v.Index(0)
		}
		if v.Kind() == reflect.Pointer && path != "" {
			v = v.Elem()
		}
	}
	something(v)
}

// something gives a member the least value that it can have.
func something(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		something(v.Elem())
	case reflect.String:
		if values := enumeration(v.Type()); values != nil {
			v.SetString(values[0])
			return
		}
		v.SetString("example")
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		if v.Index(0).Kind() != reflect.Struct {
			something(v.Index(0))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Interface:
		if reader := reflect.ValueOf(strings.NewReader("x")); reader.Type().Implements(v.Type()) {
			v.Set(reader)
		}
	}
}

// renamed are codes that the SDK has another name for, that of the error's shape.
var renamed = map[string]string{"cloudwatch:ValidationError": "ValidationException"}

// TestDocumented checks the tables themselves: nothing is in two of them.
func TestDocumented(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, d := range documented {
		for code := range strings.FieldsSeq(d.codes) {
			if seen[code] || outside[code] != "" {
				t.Errorf("%s is listed twice", code)
			}
			seen[code] = true
		}
	}
	for _, o := range otherwise {
		if !seen[o.code] || o.why == "" {
			t.Errorf("%s: not documented, or no reason", fmt.Sprint(o))
		}
	}
}
