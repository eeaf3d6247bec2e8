package cfn

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// permission is what a handler needs, of a service and for one operation. Some schemas
// spell them as they like.
var permission = regexp.MustCompile(`^([A-Za-z0-9-]+):([A-Za-z][A-Za-z0-9]{1,127})$`)

// touches returns the calls that touch the type's objects: those that its handlers make of
// the type's own service, and that may change something. How such a call names the object
// no schema says, so that the table is listed.
func (s *Schema) mappings() []modules.EventMapping {
	calls := map[string]map[string]bool{} // by prefix
	for _, operation := range []string{"create", "update", "delete"} {
		for _, needs := range s.Handlers[operation] {
			p := permission.FindStringSubmatch(needs)
			if p == nil {
				continue
			}
			prefix, name := strings.ToLower(p[1]), strings.ToUpper(p[2][:1])+p[2][1:]
			if name = modules.Operation(name); aws.IsRead(name) {
				continue
			}
			if calls[prefix] == nil {
				calls[prefix] = map[string]bool{}
			}
			calls[prefix][name] = true
		}
	}
	if len(calls) == 0 {
		return nil
	}
	own := s.service(calls)
	var mappings []modules.EventMapping
	for _, name := range slices.Sorted(maps.Keys(calls[own])) {
		t := modules.EventMapping{Source: aws.ActionSource(own), Name: name}
		if strings.Contains(name, "Tag") { // a service has one call for the tags of all its types
			t.At, t.Known = tagged, true
		}
		mappings = append(mappings, t)
	}
	return mappings
}

// tagged is where calls that change tags name what they are of.
var tagged = []string{"requestParameters.resourceArn", "requestParameters.resource", "requestParameters.resourceId",
	"requestParameters.resourcesSet.resourceId", "requestParameters.resourceName"}

// helpers are services whose permissions the handlers of any type may need.
var helpers = []string{"cloudwatch", "ec2", "iam", "kms", "logs", "ram", "s3", "secretsmanager", "sso-directory", "tag"}

// service returns the prefix of the permissions of the type's own service: that which is
// called like it, or else that of which the handlers need most, if it is not one that many
// need.
func (s *Schema) service(calls map[string]map[string]bool) string {
	service := s.Name
	if parts := strings.Split(s.Name, "::"); len(parts) > 1 {
		service = strings.ToLower(parts[1])
	}
	alike := func(prefix string) int {
		switch name := strings.ReplaceAll(prefix, "-", ""); {
		case name == service:
			return 2
		case strings.Contains(service, name) || strings.Contains(name, service):
			return 1
		}
		return 0
	}
	helps := func(prefix string) int {
		if slices.Contains(helpers, prefix) {
			return 1
		}
		return 0
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(calls)), func(x, y string) int {
		return cmp.Or(alike(x)-alike(y), helps(y)-helps(x), len(calls[x])-len(calls[y]))
	})
}
