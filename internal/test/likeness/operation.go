package likeness

import (
	_ "embed"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/faultproxy"
)

// restCalls are the operations of the APIs that speak REST: the name that they sign with,
// method, path, operation, and what parameters of the query are called. scripts/restcalls.py
// writes them.
//
//go:embed restcalls.txt
var restCalls string

type restCall struct {
	method, operation string
	path              *regexp.Regexp
	members           []string            // of the path
	has               map[string][]string // parameters that the query must have, with their value if it says one
	queries           map[string]string   // members by parameter
}

// byService are the calls by what they sign with, those with the most particular query first.
var byService = sync.OnceValue(func() map[string][]restCall {
	label := regexp.MustCompile(`\{([^}+]+)(\+?)\}`)
	calls := map[string][]restCall{}
	for line := range strings.Lines(restCalls) {
		fields := strings.Fields(line)
		path, query, _ := strings.Cut(fields[2], "?")
		call := restCall{method: fields[1], operation: fields[3], has: map[string][]string{},
			queries: map[string]string{}}
		pattern := "^"
		for at := 0; at < len(path); {
			m := label.FindStringSubmatchIndex(path[at:])
			if m == nil {
				pattern += regexp.QuoteMeta(path[at:])
				break
			}
			pattern += regexp.QuoteMeta(path[at : at+m[0]])
			name := path[at+m[2] : at+m[3]]
			switch {
			case m[4] != m[5], strings.HasSuffix(strings.ToLower(name), "arn"), name == "Resource",
				name == "ResourceId":
				pattern += "(.+)"
			default:
				pattern += "([^/]+)"
			}
			call.members = append(call.members, name)
			at += m[1]
		}
		call.path = regexp.MustCompile(strings.TrimSuffix(pattern, "/") + "/?$")
		for name, values := range parseQuery(query) {
			call.has[name] = values
		}
		for _, pair := range fields[4:] {
			parameter, member, _ := strings.Cut(pair, "=")
			call.queries[parameter] = member
		}
		if len(call.has) > 0 {
			calls[fields[0]] = append([]restCall{call}, calls[fields[0]]...)
		} else {
			calls[fields[0]] = append(calls[fields[0]], call)
		}
	}
	return calls
})

func parseQuery(query string) url.Values {
	values, _ := url.ParseQuery(query)
	return values
}

// operationOf returns the operation that a call is, and its requestParameters; false where
// it is none that changes anything.
func operationOf(c faultproxy.Call) (operation string, request any, ok bool) {
	switch params := parseQuery(c.Body); {
	case c.Header.Get("X-Amz-Target") != "":
		return c.Action, camelText(c.Body), c.Service != "" && c.Action != ""
	case params.Get("Action") != "" && c.Service == "ec2":
		return c.Action, ec2Request(c.Action, params), true
	case params.Get("Action") != "":
		return c.Action, queryRequest(params), true
	case c.Header.Get("Smithy-Protocol") != "":
		return c.Action, nil, c.Service != ""
	}
	return restOperation(c)
}

// restOperation finds the operation of a REST API.
func restOperation(c faultproxy.Call) (string, any, bool) {
	method, target, _ := strings.Cut(c.Action, " ")
	u, err := url.Parse(target)
	if err != nil {
		return "", nil, false
	}
	query := u.Query()
	for _, call := range byService()[c.Service] {
		m := call.path.FindStringSubmatch(u.EscapedPath())
		if m == nil || call.method != method || !call.queried(query) {
			continue
		}
		request := bodyOf(c.Body)
		for i, name := range call.members {
			value, err := url.PathUnescape(m[i+1])
			if err != nil {
				value = m[i+1]
			}
			if name == "Bucket" {
				name = "bucketName"
			}
			request[lowered(name)] = value
		}
		for parameter, name := range call.queries {
			if values := query[parameter]; len(values) == 1 {
				request[lowered(name)] = values[0]
			} else if len(values) > 1 {
				all := make([]any, len(values))
				for i, v := range values {
					all[i] = v
				}
				request[lowered(name)] = all
			}
		}
		if _, data := request["key"]; data && c.Service == "s3" {
			return "", nil, false // a data event
		}
		return call.operation, request, true
	}
	return "", nil, false
}

func (r *restCall) queried(query url.Values) bool {
	for name, values := range r.has {
		got, there := query[name]
		if !there || values[0] != "" && got[0] != values[0] {
			return false
		}
	}
	return true
}

// bodyOf returns the members of a body: JSON, or the root of XML.
func bodyOf(body string) map[string]any {
	if members, ok := camelText(body).(map[string]any); ok {
		return members
	}
	if root, name := tree([]byte(body)); root != nil {
		if members, ok := root.(map[string]any); ok {
			if strings.HasSuffix(name, "Request") || strings.HasSuffix(name, "WithTags") {
				return members
			}
			return map[string]any{lowered(name): members}
		}
	}
	return map[string]any{}
}

// eventName returns what CloudTrail calls an operation: Lambda's with the version of their
// API ("Logging AWS Lambda API calls using AWS CloudTrail").
func eventName(c faultproxy.Call, source, operation string) string {
	if c.Service != "lambda" {
		return aws.EventName(source, operation)
	}
	_, path, _ := strings.Cut(c.Action, " /")
	date, _, _ := strings.Cut(path, "/")
	name := operation + strings.ReplaceAll(date, "-", "")
	switch operation {
	case "UpdateFunctionConfiguration", "UpdateFunctionCode", "TagResource", "UntagResource", "AddPermission",
		"RemovePermission":
		name += "v2"
	}
	if modules.Operation(name) != operation {
		return operation
	}
	return name
}

// lowered begins with a small letter, as the members of records do.
func lowered(name string) string {
	if name == "" {
		return name
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// camelText is JSON with members that begin with small letters.
func camelText(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	return camel(v)
}

func camel(v any) any {
	switch v := v.(type) {
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, inner := range v {
			members[lowered(name)] = camel(inner)
		}
		return members
	case []any:
		for i := range v {
			v[i] = camel(v[i])
		}
	}
	return v
}

// nested is a structure of the parameters of the Query protocol: lists are maps with the
// numbers of their members.
func nested(params url.Values) map[string]any {
	root := map[string]any{}
	for name, values := range params {
		if name == "Action" || name == "Version" {
			continue
		}
		in := root
		steps := strings.Split(name, ".")
		for i, step := range steps {
			if i == len(steps)-1 {
				in[step] = values[0]
				break
			}
			next, ok := in[step].(map[string]any)
			if !ok {
				next = map[string]any{}
				in[step] = next
			}
			in = next
		}
	}
	return root
}

// listOf returns the members of a list; false where it is none.
func listOf(v map[string]any) ([]any, bool) {
	for _, wrapper := range []string{"member", "entry"} {
		if inner, ok := v[wrapper].(map[string]any); ok && len(v) == 1 {
			return listOf(inner)
		}
	}
	var members []any
	for i := 1; i <= len(v); i++ {
		one, ok := v[strconv.Itoa(i)]
		if !ok {
			break
		}
		members = append(members, one)
	}
	if len(members) > 0 {
		return members, true
	}
	if len(v) == 1 { // a list that calls its members by a name of theirs
		for _, inner := range v {
			if inner, ok := inner.(map[string]any); ok {
				if members, ok := listOf(inner); ok && inner["1"] != nil {
					return members, true
				}
			}
		}
	}
	return nil, false
}

// queryRequest are the requestParameters of a call of the Query protocol.
func queryRequest(params url.Values) any { return queryMembers(nested(params)) }

func queryMembers(v any) any {
	in, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if members, ok := listOf(in); ok {
		for i := range members {
			members[i] = queryMembers(members[i])
		}
		return members
	}
	out := map[string]any{}
	for name, inner := range in {
		out[lowered(name)] = queryMembers(inner)
	}
	return out
}
