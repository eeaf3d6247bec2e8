package awssecuritygroup

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const (
	// mostRevoked is how many rules one call deletes: as many as a group has of one
	// direction, unless its quota is raised ("Amazon VPC quotas": 60).
	mostRevoked = 60
	// mostMade is how many rules one call makes: their marks are the value of one tag.
	mostMade = longestTag / (markLength + 1)
	// longestTag is the most characters the value of a tag may have ("Tag your Amazon EC2
	// resources": tag restrictions).
	longestTag = 256
	markLength = 12
)

// batcher has rules of a group that are made, or deleted, at the same time made or deleted
// by one call. The rules that one call makes get the same tags, so that only those with
// equal ones go together.
type batcher struct {
	made    declare.Joint[kind, rule, modules.Value]
	revoked declare.Joint[kind, string, struct{}]
}

// kind is what rules must have in common to go with one call.
type kind struct {
	group  string
	egress bool
	tags   string // as JSON
}

// rule is a rule to be made.
type rule struct {
	want  modules.Row
	token string
}

func newBatcher() *batcher {
	b := &batcher{}
	b.made.Most, b.made.Send = mostMade, makeRules
	b.revoked.Most, b.revoked.Send = mostRevoked, revokeRules
	return b
}

// action is what EC2 calls what is done to a group's rules of one direction.
func action(verb string, egress bool) modules.Call {
	direction := "Ingress"
	if egress {
		direction = "Egress"
	}
	return modules.Call{Service: ec2.ServiceID, Action: verb + "SecurityGroup" + direction}
}

// authorize creates a rule.
func (b *batcher) authorize(ctx context.Context, s *declare.Step) (modules.Row, error) {
	tags, err := json.Marshal(aws.TagsOf(s.Want, ""))
	if err != nil {
		return nil, err
	}
	of := kind{s.Want["security_group_id"].String(), s.Want["is_egress"].Bool(), string(tags)}
	id, err := b.made.Do(ctx, s, action("AuthorizeSecurityGroup", of.egress), of, rule{s.Want, s.Token})
	if err != nil {
		return nil, err
	}
	return modules.Row{"security_group_rule_id": id}, nil
}

// makeRules makes rules of a group by one call: all or none of them.
func makeRules(ctx context.Context, s *declare.Step, of kind, some []rule) ([]declare.Result[modules.Value], error) {
	token := some[0].token
	if len(some) > 1 {
		marks := make([]string, len(some))
		for i, r := range some {
			marks[i] = mark(r.token, contentOf(r.want))
		}
		token = strings.Join(marks, " ")
	}
	permissions := make([]ec2types.IpPermission, len(some))
	for i, r := range some {
		permissions[i] = permissionOf(r.want)
	}
	answer, err := authorizeAll(ctx, declare.ClientOf[*ec2.Client](s), of, permissions,
		aws.EC2TagSpecification(ec2types.ResourceTypeSecurityGroupRule, some[0].want, token))
	if err != nil {
		if len(some) == 1 && modules.ClassOf(err) == modules.Exists {
			return existing(ctx, s, of, some[0], err)
		}
		return nil, err
	}
	results, missing := told(answer, some)
	if missing { // an answer that does not name them all is none of AWS's
		there, err := rulesOf(ctx, s, of)
		if err != nil {
			return nil, unsaid(err)
		}
		results, _ = told(slices.DeleteFunc(there, func(r ec2types.SecurityGroupRule) bool {
			return aws.EC2Tags.Map(r.Tags)[aws.TokenTag] != token
		}), some)
	}
	return results, nil
}

func authorizeAll(ctx context.Context, client *ec2.Client, of kind, permissions []ec2types.IpPermission,
	tags []ec2types.TagSpecification) ([]ec2types.SecurityGroupRule, error) {
	if of.egress {
		out, err := client.AuthorizeSecurityGroupEgress(ctx,
			&ec2.AuthorizeSecurityGroupEgressInput{GroupId: &of.group, IpPermissions: permissions,
				TagSpecifications: tags})
		if err != nil {
			return nil, err
		}
		return out.SecurityGroupRules, nil
	}
	out, err := client.AuthorizeSecurityGroupIngress(ctx,
		&ec2.AuthorizeSecurityGroupIngressInput{GroupId: &of.group, IpPermissions: permissions,
			TagSpecifications: tags})
	if err != nil {
		return nil, err
	}
	return out.SecurityGroupRules, nil
}

// told returns, parallel to some, the ids of the rules that were made for them, by what
// they let through, and whether there are any without. If one is left on either side, they
// belong together, whatever AWS has made of the values.
func told(answer []ec2types.SecurityGroupRule, some []rule) (results []declare.Result[modules.Value], missing bool) {
	ids := map[string]modules.Value{}
	for i := range answer {
		ids[contentOfRule(&answer[i])] = modules.TextPtr(answer[i].SecurityGroupRuleId)
	}
	results = make([]declare.Result[modules.Value], len(some))
	var without []int
	for i, r := range some {
		id, made := ids[contentOf(r.want)]
		if !made {
			results[i].Err = unsaid(nil)
			without = append(without, i)
			continue
		}
		results[i].Out = id
		delete(ids, contentOf(r.want))
	}
	if len(without) == 1 && len(ids) == 1 {
		for _, id := range ids {
			results[without[0]] = declare.Result[modules.Value]{Out: id}
		}
		return results, false
	}
	return results, len(without) > 0
}

// unsaid says that a rule was made, and that it is not known which it is: it is looked
// for by its token (R6).
func unsaid(err error) error {
	return &modules.Error{Class: modules.MayHaveHappened,
		Message: "the rule was created, and AWS does not say as which", Err: err}
}

// rulesOf returns the rules of the group.
func rulesOf(ctx context.Context, s *declare.Step, of kind) ([]ec2types.SecurityGroupRule, error) {
	return declare.Find[ec2types.SecurityGroupRule](ctx, s.Source(), rules(), "group-id", of.group)
}

// existing returns the rule that is there instead of the one to be made, if that is the
// same: one that an earlier call has made of several before it was refused, and the rule
// that AWS has given a new group and a record may ask for as well (all goes out). That is
// made with the group, so that nobody else's record stands for it. For other rules it
// returns the error that said that there is one.
func existing(ctx context.Context, s *declare.Step, of kind, wanted rule,
	exists error) ([]declare.Result[modules.Value], error) {
	all, err := rulesOf(ctx, s, of)
	if err != nil {
		return nil, err
	}
	want := wanted.want
	given := want["is_egress"].Bool() && protocol(want["ip_protocol"].String()) == "-1"
	for _, r := range all {
		if hasToken(&r, wanted.token) || given && asMade(&r) && awssdk.ToBool(r.IsEgress) &&
			awssdk.ToString(r.CidrIpv4) == want["cidr_ipv4"].String() &&
			awssdk.ToString(r.CidrIpv6) == want["cidr_ipv6"].String() {
			return []declare.Result[modules.Value]{{Out: modules.TextPtr(r.SecurityGroupRuleId)}}, nil
		}
	}
	return nil, exists
}

// hasToken reports whether a rule was made with a token. A rule that was made by itself has
// it in its tag. The tag of those made by one call has a mark for each, which tells whose
// a rule is by what it lets through.
func hasToken(r *ec2types.SecurityGroupRule, token string) bool {
	has := aws.EC2Tags.Map(r.Tags)[aws.TokenTag]
	return token != "" && has != "" &&
		(has == token || slices.Contains(strings.Fields(has), mark(token, contentOfRule(r))))
}

// mark is the token and what a rule lets through as one word, of letters that the value of
// a tag may have.
func mark(token, content string) string {
	sum := sha256.Sum256([]byte(token + "\n" + content))
	return base64.StdEncoding.EncodeToString(sum[:])[:markLength]
}

// contentOf is what a rule that is wanted lets through; no two rules of a group are the
// same in that (error InvalidPermission.Duplicate).
func contentOf(want modules.Row) string {
	p := permissionOf(want)
	return content(want["security_group_id"].String(), want["is_egress"].Bool(), want["ip_protocol"].String(),
		p.FromPort, p.ToPort,
		network(want["cidr_ipv4"].String()), network(want["cidr_ipv6"].String()), want["prefix_list_id"].String(),
		want["source_security_group"].String())
}

// contentOfRule is contentOf for a rule that is there.
func contentOfRule(r *ec2types.SecurityGroupRule) string {
	source := ""
	if r.ReferencedGroupInfo != nil {
		source = awssdk.ToString(r.ReferencedGroupInfo.GroupId)
	}
	return content(awssdk.ToString(r.GroupId), awssdk.ToBool(r.IsEgress), awssdk.ToString(r.IpProtocol),
		r.FromPort, r.ToPort,
		network(awssdk.ToString(r.CidrIpv4)), network(awssdk.ToString(r.CidrIpv6)),
		awssdk.ToString(r.PrefixListId), source)
}

func content(group string, egress bool, ipProtocol string, from, to *int32, otherSides ...string) string {
	port := func(p *int32) int32 {
		if p == nil {
			return -1
		}
		return *p
	}
	return fmt.Sprint(group, egress, protocol(ipProtocol), port(from), port(to), otherSides)
}

// network is a network in the one way to write it (RFC 5952 for IPv6).
func network(text string) string {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked().String()
	}
	return text
}

// revoke deletes a rule.
func (b *batcher) revoke(ctx context.Context, s *declare.Step) error {
	of := kind{group: s.Have["security_group_id"].String(), egress: s.Have["is_egress"].Bool()}
	_, err := b.revoked.Do(ctx, s, action("RevokeSecurityGroup", of.egress), of,
		s.Have["security_group_rule_id"].String())
	return err
}

// revokeRules deletes rules of a group by one call.
func revokeRules(ctx context.Context, s *declare.Step, of kind, ids []string) (_ []declare.Result[struct{}],
	err error) {
	client := declare.ClientOf[*ec2.Client](s)
	if of.egress {
		_, err = client.RevokeSecurityGroupEgress(ctx,
			&ec2.RevokeSecurityGroupEgressInput{GroupId: &of.group, SecurityGroupRuleIds: ids})
	} else {
		_, err = client.RevokeSecurityGroupIngress(ctx,
			&ec2.RevokeSecurityGroupIngressInput{GroupId: &of.group, SecurityGroupRuleIds: ids})
	}
	return make([]declare.Result[struct{}], len(ids)), err
}
