package awselb

import (
	"reflect"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// actionsOf returns the actions that a row asks for: to forward to its target
// group, or those in default_actions.
func actionsOf(want modules.Row) ([]elbtypes.Action, error) {
	if group := want["target_group_id"]; !group.IsNull() {
		return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: group.Ptr()}}, nil
	}
	actions, err := parseActions(want["default_actions"].String())
	for i := range actions {
		if oidc := actions[i].AuthenticateOidcConfig; oidc != nil {
			oidc.UseExistingClientSecret = awssdk.Bool(true)
		}
	}
	return actions, err
}

// parseActions reads actions as users write them.
func parseActions(text string) ([]elbtypes.Action, error) {
	var actions []elbtypes.Action
	if err := aws.ParseDocument("default_actions", modules.Text(text), &actions); err != nil {
		return nil, err
	}
	return normal(actions), nil
}

// normal returns actions as AWS tells them, with what it fills in (the pages of
// the actions' types in the API Reference say what that is), and without what it
// says twice.
func normal(actions []elbtypes.Action) []elbtypes.Action {
	out := slices.Clone(actions)
	for i := range out {
		a := &out[i]
		if len(out) == 1 {
			a.Order = nil
		}
		if f := a.ForwardConfig; f != nil {
			sticky := f.TargetGroupStickinessConfig != nil && awssdk.ToBool(f.TargetGroupStickinessConfig.Enabled)
			if len(f.TargetGroups) == 1 && !sticky {
				a.TargetGroupArn, a.ForwardConfig = f.TargetGroups[0].TargetGroupArn, nil
			} else {
				c := &elbtypes.ForwardActionConfig{TargetGroups: slices.Clone(f.TargetGroups)}
				for j := range c.TargetGroups {
					declare.Or(&c.TargetGroups[j].Weight, 1)
				}
				if sticky {
					c.TargetGroupStickinessConfig = f.TargetGroupStickinessConfig
				}
				a.TargetGroupArn, a.ForwardConfig = nil, c
			}
		}
		if r := a.RedirectConfig; r != nil {
			c := *r
			declare.Or(&c.Host, "#{host}")
			declare.Or(&c.Path, "/#{path}")
			declare.Or(&c.Port, "#{port}")
			declare.Or(&c.Protocol, "#{protocol}")
			declare.Or(&c.Query, "#{query}")
			a.RedirectConfig = &c
		}
		if o := a.AuthenticateOidcConfig; o != nil {
			c := *o
			c.ClientSecret, c.UseExistingClientSecret = nil, nil
			declare.Or(&c.Scope, "openid")
			declare.Or(&c.SessionCookieName, "AWSELBAuthSessionCookie")
			declare.Or(&c.SessionTimeout, 604800)
			if c.OnUnauthenticatedRequest == "" {
				c.OnUnauthenticatedRequest = elbtypes.AuthenticateOidcActionConditionalBehaviorEnumAuthenticate
			}
			a.AuthenticateOidcConfig = &c
		}
		if o := a.AuthenticateCognitoConfig; o != nil {
			c := *o
			declare.Or(&c.Scope, "openid")
			declare.Or(&c.SessionCookieName, "AWSELBAuthSessionCookie")
			declare.Or(&c.SessionTimeout, 604800)
			if c.OnUnauthenticatedRequest == "" {
				c.OnUnauthenticatedRequest = elbtypes.AuthenticateCognitoActionConditionalBehaviorEnumAuthenticate
			}
			a.AuthenticateCognitoConfig = &c
		}
	}
	return out
}

// sameActions reports whether two texts are the same actions.
func sameActions(a, b string) bool {
	x, errX := parseActions(a)
	y, errY := parseActions(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// setActions sets the columns of a row that say what a listener does.
func setActions(row modules.Row, actions []elbtypes.Action) error {
	row["action_type"], row["target_group_id"], row["default_actions"] = modules.Null, modules.Null, modules.Null
	if len(actions) == 0 {
		return nil
	}
	actions = normal(actions)
	row["action_type"] = modules.NonEmpty(actions[len(actions)-1].Type)
	if only := actions[0]; len(actions) == 1 && only.Type == elbtypes.ActionTypeEnumForward &&
		only.ForwardConfig == nil {
		row["target_group_id"] = modules.TextPtr(only.TargetGroupArn)
		return nil
	}
	var err error
	row["default_actions"], err = aws.Document(actions)
	return err
}
