package likeness

import (
	"bytes"
	"encoding/xml"
	"net/url"
	"slices"
	"strings"

	"iasql/internal/test/faultproxy"
)

// wrapped are the newer operations of EC2, of which records have the request and the answer
// each in a member of its own ("CreateNatGatewayRequest"), in the words of the API.
var wrapped = []string{
	"AssociateIamInstanceProfile", "CreateFleet", "CreateFlowLogs", "CreateLaunchTemplate",
	"CreateLaunchTemplateVersion", "CreateNatGateway", "CreateVpcEndpoint",
	"DeleteLaunchTemplate", "DeleteLaunchTemplateVersions", "DeleteNatGateway", "DeleteVpcEndpoints",
	"DisassociateIamInstanceProfile", "ModifyInstanceMetadataOptions",
	"ModifyLaunchTemplate", "ModifySecurityGroupRules", "ModifyVolume", "ModifyVpcEndpoint",
	"ReplaceIamInstanceProfileAssociation",
}

// sets are what records call EC2's lists that have other names than theirs with Set behind.
var sets = map[string][2]string{ // set, and the member of its items
	"InstanceId":      {"instancesSet", "instanceId"},
	"ResourceId":      {"resourcesSet", "resourceId"},
	"SecurityGroupId": {"groupSet", "groupId"},
	"GroupId":         {"groupSet", "groupId"},
	"IpPermissions":   {"ipPermissions", ""},
	"Tag":             {"tagSet", ""},
}

// ec2Request are the requestParameters of a call of EC2 (CloudTrail User Guide, "Amazon EC2
// log examples").
func ec2Request(operation string, params url.Values) any {
	members := nested(params)
	if slices.Contains(wrapped, operation) {
		return map[string]any{operation + "Request": tagged(members)}
	}
	return ec2Members(members)
}

func ec2Members(in map[string]any) any {
	out := map[string]any{}
	for name, inner := range in {
		object, ok := inner.(map[string]any)
		if !ok {
			out[lowered(name)] = inner
			continue
		}
		all, ok := listOf(object)
		if !ok {
			out[lowered(name)] = ec2Members(object)
			continue
		}
		set, one := lowered(name)+"Set", lowered(name)
		if known, ok := sets[name]; ok {
			set, one = known[0], known[1]
		}
		items := make([]any, len(all))
		for i := range all {
			if object, ok := all[i].(map[string]any); ok {
				items[i] = ec2Members(object)
			} else {
				items[i] = map[string]any{one: all[i]}
			}
		}
		out[set] = map[string]any{"items": items}
	}
	return out
}

// tagged are the members of a wrapped request: those of lists have numbers.
func tagged(in map[string]any) any {
	out := map[string]any{}
	for name, inner := range in {
		object, ok := inner.(map[string]any)
		if !ok {
			out[name] = inner
			continue
		}
		all, ok := listOf(object)
		if !ok {
			out[name] = tagged(object)
			continue
		}
		items := make([]any, len(all))
		for i := range all {
			if object, ok := all[i].(map[string]any); ok {
				one := tagged(object).(map[string]any)
				one["tag"] = i + 1
				items[i] = one
			} else {
				items[i] = map[string]any{"tag": i + 1, "content": all[i]}
			}
		}
		if len(items) == 1 {
			out[name] = items[0]
		} else {
			out[name] = items
		}
	}
	return out
}

// responseOf are the responseElements of a call.
func responseOf(c faultproxy.Call, a faultproxy.Answer, operation string) any {
	if members, ok := camelText(string(a.Body)).(map[string]any); ok {
		if len(members) == 0 {
			return nil
		}
		return members
	}
	root, _ := tree(a.Body)
	members, ok := root.(map[string]any)
	switch {
	case !ok:
		return nil
	case c.Service == "ec2":
		if done, ok := members["return"]; ok {
			members["_return"] = done
			delete(members, "return")
		}
		if slices.Contains(wrapped, operation) {
			return map[string]any{operation + "Response": members}
		}
		return members
	}
	if result, ok := members[lowered(operation)+"Result"].(map[string]any); ok { // of the Query protocol
		if c.Service == "rds" && len(result) == 1 { // whose records have what it holds instead
			for _, inner := range result {
				if object, ok := inner.(map[string]any); ok {
					return object
				}
			}
		}
		return result
	}
	if len(members) == 1 && members["responseMetadata"] != nil {
		return nil
	}
	// The answers of REST APIs are what they are about.
	if _, name := tree(a.Body); !strings.HasSuffix(name, "Response") && !strings.HasSuffix(name, "Result") {
		return map[string]any{lowered(name): members}
	}
	return members
}

// tree is XML as records have it, and the root's name: members begin with small letters, and
// EC2's lists have items.
func tree(text []byte) (any, string) {
	type node struct {
		XMLName xml.Name
		Text    string `xml:",chardata"`
		Nodes   []node `xml:",any"`
	}
	var root node
	if xml.NewDecoder(bytes.NewReader(text)).Decode(&root) != nil {
		return nil, ""
	}
	var value func(n node) any
	value = func(n node) any {
		if len(n.Nodes) == 0 {
			switch text := strings.TrimSpace(n.Text); text {
			case "true", "false":
				return text == "true"
			case "":
				return map[string]any{}
			default:
				return text
			}
		}
		members := map[string]any{}
		var items []any
		if !slices.ContainsFunc(n.Nodes, func(inner node) bool { return inner.XMLName.Local+"s" != n.XMLName.Local }) {
			for _, inner := range n.Nodes { // changes, each a change, are a list in Route 53's records
				items = append(items, value(inner))
			}
			return items
		}
		for _, inner := range n.Nodes {
			name := lowered(inner.XMLName.Local)
			if name == "item" || name == "member" {
				items = append(items, value(inner))
				continue
			}
			if had, twice := members[name]; twice {
				all, ok := had.([]any)
				if !ok {
					all = []any{had}
				}
				members[name] = append(all, value(inner))
				continue
			}
			members[name] = value(inner)
		}
		switch {
		case items != nil && n.Nodes[0].XMLName.Local == "item":
			return map[string]any{"items": items}
		case items != nil:
			return items
		}
		return members
	}
	return value(root), root.XMLName.Local
}
