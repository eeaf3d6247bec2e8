package likeness

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// emulator is the endpoint behind the likeness. Rules ask it what there is, and have
// it do later what AWS takes time for, in the name of who made a call.
type emulator string

// signed is where a signature names the service (AWS General Reference, "Create a
// signed AWS API request"). The emulator reads it and checks no signature.
var signed = regexp.MustCompile(`/[a-z0-9-]+/aws4_request`)

// versions are those of the APIs that speak the Query protocol.
var versions = map[string]string{"ec2": "2016-11-15", "elasticloadbalancing": "2015-12-01", "rds": "2014-10-31",
	"iam": "2010-05-08", "sns": "2010-03-31", "sts": "2011-06-15"}

// query asks a service of the call's account and region in the Query protocol; of is
// the parameters' names and values in turn. An answer that cannot be had is empty.
func (e emulator) query(c Call, service, action string, of ...string) string {
	params := url.Values{"Action": {action}, "Version": {versions[service]}}
	for i := 0; i+1 < len(of); i += 2 {
		params.Set(of[i], of[i+1])
	}
	header := c.Header.Clone()
	header.Del("X-Amz-Target")
	header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	header.Set("Authorization", signed.ReplaceAllString(header.Get("Authorization"), "/"+service+"/aws4_request"))
	return e.send(header, params.Encode())
}

// filter is a query with one filter of EC2.
func (e emulator) filter(c Call, action, name, value string) string {
	return e.query(c, "ec2", action, "Filter.1.Name", name, "Filter.1.Value.1", value)
}

// target asks the call's own service in the JSON protocol.
func (e emulator) target(c Call, action, body string) string {
	header := c.Header.Clone()
	api, _, _ := strings.Cut(header.Get("X-Amz-Target"), ".")
	header.Set("X-Amz-Target", api+"."+action)
	return e.send(header, body)
}

// later has the emulator carry out the call after a while.
func (e emulator) later(c Call, after time.Duration, then func()) {
	header := c.Header.Clone()
	time.AfterFunc(after, func() {
		e.send(header, c.Body)
		then()
	})
}

func (e emulator) send(header http.Header, body string) string {
	request, err := http.NewRequest(http.MethodPost, string(e), strings.NewReader(body))
	if err != nil {
		return ""
	}
	request.Header = header
	request.Header.Del("Accept-Encoding")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		return ""
	}
	return string(text)
}

// members returns the texts of all members of that name, at any depth.
func members(text, name string) []string {
	var all []string
	parts := strings.Split(text, "<"+name+">")
	for _, part := range parts[1:] {
		value, _, _ := strings.Cut(part, "</"+name+">")
		all = append(all, strings.TrimSpace(value))
	}
	return all
}

// items returns the texts of one member of each item of a set, such as the groupId of
// securityGroupInfo, and not those of what the items hold.
func items(text, set, name string) []string {
	type node struct {
		XMLName xml.Name
		Text    string `xml:",chardata"`
		Nodes   []node `xml:",any"`
	}
	var answer node
	if xml.Unmarshal([]byte(text), &answer) != nil {
		return nil
	}
	var all []string
	for _, s := range answer.Nodes {
		if s.XMLName.Local != set {
			continue
		}
		for _, item := range s.Nodes {
			for _, member := range item.Nodes {
				if member.XMLName.Local == name {
					all = append(all, strings.TrimSpace(member.Text))
				}
			}
		}
	}
	return all
}

// numbered returns the values of parameters that are a list: those whose names begin so.
func numbered(params url.Values, prefix string) []string {
	var all []string
	for name, values := range params {
		if strings.HasPrefix(name, prefix) {
			all = append(all, values...)
		}
	}
	return all
}

// refused is the answer 400 with code and message.
func refused(code, message string) faultproxy.Fault {
	return refusal(http.StatusBadRequest, code, "%s", message)
}

// states gives each object of an answer the state that it is in: objects have one
// member id each, and one member state, in whatever order. is returns the state's new
// inside, and false where it is to stay.
func states(body []byte, id, state string, is func(id, inside string) (string, bool)) []byte {
	text := string(body)
	ids := members(text, id)
	parts := strings.Split(text, "<"+state+">")
	if len(parts)-1 != len(ids) {
		return body
	}
	for i, part := range parts[1:] {
		inside, rest, _ := strings.Cut(part, "</"+state+">")
		if changed, ok := is(ids[i], inside); ok {
			inside = changed
		}
		parts[i+1] = inside + "</" + state + ">" + rest
	}
	return []byte(strings.Join(parts, "<"+state+">"))
}
