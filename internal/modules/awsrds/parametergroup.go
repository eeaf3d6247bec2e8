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
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const (
	// mostParameters is how many parameters one call changes (page
	// ModifyDBParameterGroup).
	mostParameters = 20
	// defaultPrefix begins the names of the groups that are AWS's own.
	defaultPrefix = "default."
)

// newParameterGroup declares the table parameter_group.
func newParameterGroup(c *aws.Clients) *declare.Resource {
	// AWS's own can have neither parameters nor tags
	own := declare.Only(func(row modules.Row) bool { return !isDefault(row) })
	return declare.New(c, declare.Table[rdstypes.DBParameterGroup]{
		Name:    "parameter_group",
		Doc:     "Parameter groups: the settings of a database engine, for the instances that use the group.",
		Service: declare.Service(rds.NewFromConfig),
		Columns: []declare.Column{
			name("name", "DBParameterGroupName",
				`The group's name, in lower case. Those that begin with "default." are AWS's own.`),
			declare.Text("family", "DBParameterGroupFamily",
				"The engine and version it is for, such as postgres16 or mysql8.0.").Required().CreateOnly(),
			description("Description", "What it is for. AWS has no way to change it.").CreateOnly(),
			declare.JSON("parameters", "Parameters",
				`The parameters that are not as the engine's defaults have them, such as {"max_connections": "200"} (IaSQL listed all parameters). Static ones take effect at the instance's next reboot.`).
				EmptyIsNull().Same(sameStrings).Check("jsonb_typeof(parameters) = 'object'").As(parameters).
				From(declare.Call((*rds.Client).DescribeDBParameters, own,
					declare.With(&rds.DescribeDBParametersInput{Source: awssdk.String("user"),
						MaxRecords: awssdk.Int32(pageSize)}))),
			arn("DBParameterGroupArn"),
			tagsApart(own),
		},
		Published:           declare.Published{Type: "AWS::RDS::DBParameterGroup", Since: 5},
		DestroyBeforeCreate: true,

		Kind: "pg:",
		EventMappings: modules.EventMappings("rds.amazonaws.com",
			modules.Request("dBParameterGroupName", "ModifyDBParameterGroup", "ResetDBParameterGroup"),
			modules.Request("targetDBParameterGroupIdentifier", "CopyDBParameterGroup"),
		),
		List: declare.Pages(rds.NewDescribeDBParameterGroupsPaginator, "DBParameterGroups", declare.PageSize(pageSize)),
		Get:  declare.One(declare.Call((*rds.Client).DescribeDBParameterGroups), "DBParameterGroups[0]"),
		Row: func(_ context.Context, _ *declare.Step, _ *rdstypes.DBParameterGroup, row modules.Row) error {
			if isDefault(row) {
				row["parameters"], row[modules.ColumnTags] = modules.Null, modules.Null
			}
			return nil
		},
		Create:  declare.Call((*rds.Client).CreateDBParameterGroup),
		Updates: []declare.Update{declare.By(updateParameters, "parameters")},
		Delete:  declare.Call((*rds.Client).DeleteDBParameterGroup),
		Refuses: []declare.Refusal{{When: isDefault, Why: "it is AWS's own group of default parameters",
			Source: "https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_DeleteDBParameterGroup.html"}},
	})
}

func isDefault(group modules.Row) bool {
	return strings.HasPrefix(group["name"].String(), defaultPrefix)
}

var parameters = declare.Codec{Decode: func(member any) (modules.Value, error) {
	set := map[string]string{}
	for _, p := range member.([]rdstypes.Parameter) {
		if p.ParameterValue != nil {
			set[awssdk.ToString(p.ParameterName)] = *p.ParameterValue
		}
	}
	return modules.StringMap(set), nil
}}

// updateParameters changes parameters, twenty a call.
func updateParameters(ctx context.Context, s *declare.Step) error {
	client, name := declare.ClientOf[*rds.Client](s), s.Have["name"].Ptr()
	had, wanted := s.Have["parameters"].StringMap(), s.Want["parameters"].StringMap()
	// Only dynamic parameters can take effect at once.
	dynamic, now := map[string]bool{}, map[string]string{}
	err := aws.Pages(ctx, rds.NewDescribeDBParametersPaginator(client,
		&rds.DescribeDBParametersInput{DBParameterGroupName: name, MaxRecords: awssdk.Int32(pageSize)}),
		func(out *rds.DescribeDBParametersOutput) error {
			for _, p := range out.Parameters {
				name := awssdk.ToString(p.ParameterName)
				dynamic[name], now[name] = awssdk.ToString(p.ApplyType) == "dynamic", awssdk.ToString(p.ParameterValue)
			}
			return nil
		})
	if err != nil {
		return err
	}
	parameter := func(key string, value *string) rdstypes.Parameter {
		p := rdstypes.Parameter{ParameterName: &key, ParameterValue: value,
			ApplyMethod: rdstypes.ApplyMethodPendingReboot}
		if dynamic[key] {
			p.ApplyMethod = rdstypes.ApplyMethodImmediate
		}
		return p
	}
	var set, reset []rdstypes.Parameter
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		// RDS does not tell a parameter that is set to its default from one that is not set.
		if was, ok := had[key]; now[key] != wanted[key] || ok && was != wanted[key] {
			set = append(set, parameter(key, awssdk.String(wanted[key])))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(had)) {
		if _, keep := wanted[key]; !keep {
			reset = append(reset, parameter(key, nil))
		}
	}
	for some := range slices.Chunk(reset, mostParameters) {
		if _, err := client.ResetDBParameterGroup(ctx,
			&rds.ResetDBParameterGroupInput{DBParameterGroupName: name, Parameters: some}); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(set, mostParameters) {
		if _, err := client.ModifyDBParameterGroup(ctx,
			&rds.ModifyDBParameterGroupInput{DBParameterGroupName: name, Parameters: some}); err != nil {
			return err
		}
	}
	return nil
}
