package cloudcontrol

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const registryNamespace = "http://cloudformation.amazonaws.com/doc/2010-05-15/"

// Publication is a type in the registry.
type Publication struct {
	Schema []byte
	// Private: registered in the account. Publisher: the id of a third party;
	// types that are neither are Amazon's.
	Private   bool
	Publisher string
	// Activated: a third party's type that the account may use.
	Activated bool
	// Version is the DefaultVersionId of a private type, "00000001" without, or the
	// PublicVersionNumber of a third party's, "1.0.0" without.
	Version    string
	Deprecated bool
	// Scope is where the type is known; everywhere if nil.
	Scope *Scope
}

// publication is a type, parsed when it is first used.
type publication struct {
	Publication
	name, description, provisioning string
	updated                         time.Time
	typ                             *Type
}

// Publish makes a type known, or a newer version of one.
func (s *Server) Publish(p Publication) error {
	var schema struct {
		TypeName    string
		Description string
		Handlers    map[string]json.RawMessage
	}
	if err := json.Unmarshal(p.Schema, &schema); err != nil {
		return err
	}
	if schema.TypeName == "" {
		return fmt.Errorf("the schema has no typeName")
	}
	if p.Version == "" && p.Private {
		p.Version = "00000001"
	} else if p.Version == "" && p.Publisher != "" {
		p.Version = "1.0.0"
	}
	handlers := map[string]any{}
	for name := range schema.Handlers {
		handlers[name] = true
	}
	one := &publication{Publication: p, name: schema.TypeName, description: schema.Description, updated: time.Now(),
		provisioning: (&Type{handlers: handlers}).provisioning()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.registry[one.key()]; before != nil {
		s.types = slices.DeleteFunc(s.types, func(other *publication) bool { return other == before })
	}
	s.registry[one.key()] = one
	at, _ := slices.BinarySearchFunc(s.types, one, func(a, b *publication) int { return cmp.Compare(a.key(), b.key()) })
	s.types = slices.Insert(s.types, at, one)
	return nil
}

// Withdraw makes a type unknown.
func (s *Server) Withdraw(typeName string, scope *Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := s.registry[key(typeName, scope)]
	delete(s.registry, key(typeName, scope))
	s.types = slices.DeleteFunc(s.types, func(other *publication) bool { return other == gone })
}

func (p *publication) key() string { return key(p.name, p.Scope) }

func key(name string, scope *Scope) string {
	if scope == nil {
		return name
	}
	return name + " " + scope.Account + " " + scope.Region
}

// published finds a type where it is known.
func (s *Server) published(scope Scope, name string) *publication {
	if p := s.registry[key(name, &scope)]; p != nil {
		return p
	}
	return s.registry[name]
}

// usable finds a type that requests can be made for.
func (s *Server) usable(scope Scope, name string) (*Type, error) {
	p := s.published(scope, name)
	if p == nil || p.Publisher != "" && !p.Activated {
		return nil, fault("TypeNotFoundException", "The type '%s' cannot be found.", name)
	}
	return p.parse()
}

func (p *publication) parse() (*Type, error) {
	if p.typ == nil {
		typ, err := NewType(p.Schema)
		if err != nil {
			return nil, err
		}
		p.typ = typ
	}
	return p.typ, nil
}

// cloudFormation answers a call of the registry.
func (s *Server) cloudFormation(w http.ResponseWriter, c *call) {
	in := form(c)
	c.action, c.typ = in.Get("Action"), in.Get("TypeName")
	met, err := s.begin(c)
	if err == nil && met != nil && met.Code != "" {
		err = fault(met.Code, "%s", met.message())
	}
	if err != nil && asError(err).Code == "ThrottlingException" {
		err = fault("Throttling", "Rate exceeded") // the Query protocol's "Common errors"
	}
	var answer any
	if err == nil {
		s.mu.Lock()
		switch c.action {
		case "ListTypes":
			answer, err = s.listTypes(c.scope, in.Get)
		case "DescribeType":
			answer, err = s.describeType(c.scope, in.Get)
		default:
			err = fault("InvalidAction",
				"this endpoint answers ListTypes and DescribeType of CloudFormation only, not %s", c.action)
		}
		s.mu.Unlock()
	}
	switch {
	case met != nil && met.Drop:
		drop(w)
	case err != nil:
		queryWire{}.fail(w, err)
	default:
		queryWire{}.answer(w, registryNamespace, c.action, answer)
	}
}

// summary is a TypeSummary; what is empty is left out.
type summary struct {
	Type                string `xml:"Type"`
	TypeName            string `xml:"TypeName"`
	TypeArn             string `xml:"TypeArn"`
	DefaultVersionID    string `xml:"DefaultVersionId,omitempty"`
	LastUpdated         string `xml:"LastUpdated,omitempty"`
	Description         string `xml:"Description,omitempty"`
	PublisherID         string `xml:"PublisherId,omitempty"`
	PublicVersionNumber string `xml:"PublicVersionNumber,omitempty"`
	LatestPublicVersion string `xml:"LatestPublicVersion,omitempty"`
	IsActivated         *bool  `xml:"IsActivated,omitempty"`
}

type listedTypes struct {
	Summaries []summary `xml:"TypeSummaries>member"`
	NextToken string    `xml:"NextToken,omitempty"`
}

// listTypes answers ListTypes.
func (s *Server) listTypes(scope Scope, in func(string) string) (any, error) {
	for parameter, values := range map[string][]string{
		"Visibility": {"PUBLIC", "PRIVATE"}, "ProvisioningType": {"NON_PROVISIONABLE", "IMMUTABLE", "FULLY_MUTABLE"},
		"DeprecatedStatus": {"LIVE", "DEPRECATED"}, "Type": {"RESOURCE", "MODULE", "HOOK"},
		"Filters.Category": {"REGISTERED", "ACTIVATED", "THIRD_PARTY", "AWS_TYPES"},
	} {
		if v := in(parameter); v != "" && !slices.Contains(values, v) {
			return nil, fault("ValidationError",
				"1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy "+
					"enum value set: [%s]",
				v, parameter, strings.Join(values, ", "))
		}
	}
	most := 100
	if v := in("MaxResults"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 100 {
			return nil, fault("ValidationError",
				"1 validation error detected: Value '%s' at 'maxResults' failed to satisfy constraint: Member must "+
					"have value between 1 and 100", v)
		}
		most = n
	}
	answer := listedTypes{Summaries: []summary{}}
	start := 0
	if token := in("NextToken"); token != "" {
		after, err := openToken(token)
		if err != nil {
			return nil, fault("CFNRegistryException", "Invalid NextToken")
		}
		start, _ = slices.BinarySearchFunc(s.types, after, func(p *publication, after string) int {
			return cmp.Compare(p.key(), after)
		})
	}
	for _, p := range s.types[start:] {
		if !p.listed(scope, in) {
			continue
		}
		if len(answer.Summaries) == most {
			answer.NextToken = closeToken(p.key())
			break
		}
		answer.Summaries = append(answer.Summaries, p.summary(scope))
	}
	return answer, nil
}

// listed reports whether a listing shows a type.
func (p *publication) listed(scope Scope, in func(string) string) bool {
	third := p.Publisher != ""
	public := in("Visibility") == "PUBLIC"
	deprecated := cmp.Or(in("DeprecatedStatus"), "LIVE") == "DEPRECATED"
	switch {
	case p.Scope != nil && *p.Scope != scope:
		return false
	case cmp.Or(in("Type"), "RESOURCE") != "RESOURCE", p.Deprecated != deprecated:
		return false
	case public && p.Private, !public && !p.Private && !(third && p.Activated):
		return false
	// "The default is FULLY_MUTABLE" (ListTypes)
	case cmp.Or(in("ProvisioningType"), "FULLY_MUTABLE") != p.provisioning:
		return false
	case !strings.HasPrefix(p.name, in("Filters.TypeNamePrefix")):
		return false
	case in("Filters.PublisherId") != "" && in("Filters.PublisherId") != p.Publisher:
		return false
	}
	switch in("Filters.Category") {
	case "REGISTERED":
		return p.Private
	case "ACTIVATED": // Amazon's are activated by default
		return !p.Private && (!third || p.Activated)
	case "THIRD_PARTY":
		return p.Private || third
	case "AWS_TYPES":
		return !p.Private && !third
	}
	return true
}

// arn is the type's ARN, without a version.
func (p *publication) arn(scope Scope) string {
	owner := ""
	if p.Private || p.Publisher != "" {
		owner = scope.Account
	}
	return "arn:aws:cloudformation:" + scope.Region + ":" + owner + ":type/resource/" +
		strings.ReplaceAll(p.name, "::", "-")
}

func (p *publication) summary(scope Scope) summary {
	one := summary{Type: "RESOURCE", TypeName: p.name, TypeArn: p.arn(scope), Description: p.description,
		PublisherID: p.Publisher}
	if runes := []rune(one.Description); len(runes) > 1024 {
		one.Description = string(runes[:1024])
	}
	if p.Private {
		one.DefaultVersionID, one.LastUpdated = p.Version, p.updated.UTC().Format(time.RFC3339)
	}
	if p.Publisher != "" {
		activated := p.Activated
		one.IsActivated, one.LatestPublicVersion = &activated, p.Version
		if activated {
			one.PublicVersionNumber = p.Version
		}
	}
	return one
}

// described is the answer of DescribeType; what is empty is left out.
type described struct {
	Arn                 string `xml:"Arn"`
	Type                string `xml:"Type"`
	TypeName            string `xml:"TypeName"`
	DefaultVersionID    string `xml:"DefaultVersionId,omitempty"`
	IsDefaultVersion    *bool  `xml:"IsDefaultVersion,omitempty"`
	Description         string `xml:"Description,omitempty"`
	Schema              string `xml:"Schema"`
	ProvisioningType    string `xml:"ProvisioningType"`
	DeprecatedStatus    string `xml:"DeprecatedStatus,omitempty"`
	Visibility          string `xml:"Visibility"`
	LastUpdated         string `xml:"LastUpdated,omitempty"`
	TimeCreated         string `xml:"TimeCreated,omitempty"`
	PublisherID         string `xml:"PublisherId,omitempty"`
	PublicVersionNumber string `xml:"PublicVersionNumber,omitempty"`
	LatestPublicVersion string `xml:"LatestPublicVersion,omitempty"`
	IsActivated         *bool  `xml:"IsActivated,omitempty"`
}

// describeType answers DescribeType.
func (s *Server) describeType(scope Scope, in func(string) string) (any, error) {
	name, version := in("TypeName"), in("VersionId")
	if arn := in("Arn"); arn != "" {
		_, rest, _ := strings.Cut(arn, ":type/resource/")
		rest, inARN, _ := strings.Cut(rest, "/")
		name, version = strings.ReplaceAll(rest, "-", "::"), cmp.Or(version, inARN)
	} else if name == "" || in("Type") == "" {
		return nil, fault("CFNRegistryException", "Either Arn, or TypeName and Type must be given")
	}
	p := s.published(scope, name)
	if p == nil || in("Type") != "" && in("Type") != "RESOURCE" || version != "" && version != p.Version {
		return nil, fault("TypeNotFoundException", "The type '%s' cannot be found.", name)
	}
	short := p.summary(scope)
	answer := described{Arn: short.TypeArn, Type: short.Type, TypeName: p.name, Description: short.Description,
		Schema:           string(p.Schema),
		ProvisioningType: p.provisioning, Visibility: "PUBLIC", LastUpdated: p.updated.UTC().Format(time.RFC3339),
		TimeCreated: p.updated.UTC().Format(time.RFC3339), DefaultVersionID: short.DefaultVersionID,
		PublisherID:         p.Publisher,
		PublicVersionNumber: short.PublicVersionNumber, LatestPublicVersion: short.LatestPublicVersion,
		IsActivated: short.IsActivated}
	if p.Publisher == "" { // null for a third party's
		yes := true
		answer.IsDefaultVersion = &yes
		answer.DeprecatedStatus = "LIVE"
		if p.Deprecated {
			answer.DeprecatedStatus = "DEPRECATED"
		}
	}
	if p.Private {
		answer.Visibility, answer.Arn = "PRIVATE", short.TypeArn+"/"+p.Version
	}
	return answer, nil
}
