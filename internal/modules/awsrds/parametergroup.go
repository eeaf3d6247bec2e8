package awsrds

import (
	"context"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

const (
	// mostParameters is how many parameters one call changes (page
	// ModifyDBParameterGroup).
	mostParameters = 20
	// defaultPrefix begins the names of the groups that are AWS's own.
	defaultPrefix = "default."
)

// parameterGroup is the table parameter_group.
type parameterGroup struct {
	clients     *aws.Clients
	description *modules.Table
}

func newParameterGroup(c *aws.Clients) *parameterGroup {
	return &parameterGroup{clients: c, description: describeParameterGroup()}
}

func describeParameterGroup() *modules.Table {
	return &modules.Table{
		Name:     "parameter_group",
		Doc:      "Parameter groups: the settings of a database engine, for the instances that use the group.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			nameColumn("name", `The group's name, in lower case. Those that begin with "default." are AWS's own.`),
			modules.Column{Name: "family", Type: modules.TypeText, Required: true, CreateOnly: true,
				Doc: "The engine and version it is for, such as postgres16 or mysql8.0."},
			modules.Column{Name: "description", Type: modules.TypeText, Required: true, CreateOnly: true, Check: "length(description) BETWEEN 1 AND 255",
				Doc: "What it is for. AWS has no way to change it."},
			modules.Column{Name: "parameters", Type: modules.TypeJSON, EmptyIsNull: true, Equal: sameStrings, Check: "jsonb_typeof(parameters) = 'object'",
				Doc: `The parameters that are not as the engine's defaults have them, such as {"max_connections": "200"} (IaSQL listed all parameters). Static ones take effect at the instance's next reboot.`},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			aws.TagsColumn(),
		),
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *parameterGroup) Table() *modules.Table { return r.description }

// List gives every group of the scope to page.
func (r *parameterGroup) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, rds.NewDescribeDBParameterGroupsPaginator(client, &rds.DescribeDBParameterGroupsInput{MaxRecords: awssdk.Int32(pageSize)}),
		func(out *rds.DescribeDBParameterGroupsOutput) error {
			rows, err := aws.Read(ctx, out.DBParameterGroups, func(ctx context.Context, g rdstypes.DBParameterGroup) (modules.Row, error) {
				return parameterGroupRow(ctx, client, g)
			})
			if err != nil {
				return err
			}
			return page(rows)
		})
}

// Get reads the groups with these names.
func (r *parameterGroup) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		out, err := client.DescribeDBParameterGroups(ctx, &rds.DescribeDBParameterGroupsInput{DBParameterGroupName: identity["name"].Ptr()})
		if err != nil || len(out.DBParameterGroups) == 0 {
			return nil, err
		}
		return parameterGroupRow(ctx, client, out.DBParameterGroups[0])
	})
}

func parameterGroupRow(ctx context.Context, client *rds.Client, g rdstypes.DBParameterGroup) (modules.Row, error) {
	row := modules.Row{
		"name":        modules.TextPtr(g.DBParameterGroupName),
		"family":      modules.TextPtr(g.DBParameterGroupFamily),
		"description": modules.TextPtr(g.Description),
		"parameters":  modules.Null,
		"arn":         modules.TextPtr(g.DBParameterGroupArn),
		"tags":        modules.Null,
	}
	if strings.HasPrefix(row["name"].String(), defaultPrefix) {
		return row, nil // can have neither
	}
	var parameters, tags modules.Value
	err := aws.Together(ctx,
		func(ctx context.Context) error {
			set := map[string]string{}
			err := eachParameter(ctx, client, g.DBParameterGroupName, awssdk.String("user"), func(p rdstypes.Parameter) {
				if p.ParameterValue != nil {
					set[awssdk.ToString(p.ParameterName)] = *p.ParameterValue
				}
			})
			parameters = modules.StringMap(set)
			return err
		},
		func(ctx context.Context) (err error) {
			tags, err = readTags(ctx, client, g.DBParameterGroupArn)
			return err
		})
	row["parameters"], row["tags"] = parameters, tags
	return row, err
}

func eachParameter(ctx context.Context, client *rds.Client, group, source *string, do func(rdstypes.Parameter)) error {
	return aws.Pages(ctx, rds.NewDescribeDBParametersPaginator(client, &rds.DescribeDBParametersInput{
		DBParameterGroupName: group, Source: source, MaxRecords: awssdk.Int32(pageSize),
	}), func(out *rds.DescribeDBParametersOutput) error {
		for _, p := range out.Parameters {
			do(p)
		}
		return nil
	})
}

// Create creates a group. Parameters are left to Update.
func (r *parameterGroup) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateDBParameterGroup(ctx, &rds.CreateDBParameterGroupInput{
		DBParameterGroupName: want["name"].Ptr(), DBParameterGroupFamily: want["family"].Ptr(),
		Description: want["description"].Ptr(), Tags: rdsTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"name": want["name"]}, nil
}

// Update changes parameters, twenty a call, and tags.
func (r *parameterGroup) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	if slices.Contains(columns, "parameters") {
		if err := updateParameters(ctx, client, have, want); err != nil {
			return err
		}
	}
	if slices.Contains(columns, modules.ColumnTags) {
		return updateTags(ctx, client, have, want)
	}
	return nil
}

func updateParameters(ctx context.Context, client *rds.Client, have, want modules.Row) error {
	name, had, wanted := have["name"].Ptr(), have["parameters"].StringMap(), want["parameters"].StringMap()
	// Only dynamic parameters can take effect at once.
	dynamic := map[string]bool{}
	err := eachParameter(ctx, client, name, nil, func(p rdstypes.Parameter) {
		dynamic[awssdk.ToString(p.ParameterName)] = awssdk.ToString(p.ApplyType) == "dynamic"
	})
	if err != nil {
		return err
	}
	parameter := func(key string, value *string) rdstypes.Parameter {
		p := rdstypes.Parameter{ParameterName: &key, ParameterValue: value, ApplyMethod: rdstypes.ApplyMethodPendingReboot}
		if dynamic[key] {
			p.ApplyMethod = rdstypes.ApplyMethodImmediate
		}
		return p
	}
	var set, reset []rdstypes.Parameter
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if was, ok := had[key]; !ok || was != wanted[key] {
			set = append(set, parameter(key, awssdk.String(wanted[key])))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(had)) {
		if _, keep := wanted[key]; !keep {
			reset = append(reset, parameter(key, nil))
		}
	}
	for some := range slices.Chunk(reset, mostParameters) {
		if _, err := client.ResetDBParameterGroup(ctx, &rds.ResetDBParameterGroupInput{DBParameterGroupName: name, Parameters: some}); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(set, mostParameters) {
		if _, err := client.ModifyDBParameterGroup(ctx, &rds.ModifyDBParameterGroupInput{DBParameterGroupName: name, Parameters: some}); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes a group, which no instance may use.
func (r *parameterGroup) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if err := aws.Keep(r.Protected(have)); err != nil {
		return err
	}
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteDBParameterGroup(ctx, &rds.DeleteDBParameterGroupInput{DBParameterGroupName: have["name"].Ptr()})
	return aws.IfExists(err)
}

// Protected keeps AWS's own groups.
func (r *parameterGroup) Protected(have modules.Row) string {
	if strings.HasPrefix(have["name"].String(), defaultPrefix) {
		return "it is AWS's own group of default parameters"
	}
	return ""
}
