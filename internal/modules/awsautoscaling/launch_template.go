package awsautoscaling

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// mostTemplates is the most results that EC2 gives a page of launch templates and
// of their versions.
const mostTemplates = 200

// template is a launch template with its default version. What the version says
// is divided: Data has what the members beside it do not.
type template struct {
	ec2types.LaunchTemplate
	Description *string
	Version     ec2types.RequestLaunchTemplateData
	UserData    *string // as text
	Data        ec2types.RequestLaunchTemplateData
}

// newLaunchTemplate declares the table launch_template.
func newLaunchTemplate(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[template]{
		Name: "launch_template",
		Doc: "Launch templates: what instances are made with. A row is the template's default version. A change " +
			"makes a new version, and that the default one; " +
			"earlier versions stay. Deleting one deletes all versions.",
		Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("launch_template_name", "LaunchTemplateName",
				"The template's name: 3 to 128 letters, digits and ( ) . - / _.").Matches(
				`^[A-Za-z0-9().\-/_]{3,128}$`),
			declare.Text("version_description", "Description",
				"What the version is for, up to 255 characters.").Length(1, 255).In("VersionDescription"),
			declare.Text("image_id", "Version.ImageId",
				"The image, such as ami-0a1b2c3d, or resolve:ssm: and the name of a Systems Manager parameter that "+
					"holds one, which is read at each launch."),
			declare.Text("instance_type", "Version.InstanceType", "What instances run on, such as t3.micro."),
			declare.Text("key_pair_name", "Version.KeyName", "The key pair with which people log in."),
			declare.Texts("security_group_ids", "Version.SecurityGroupIds",
				"The ids of the security groups of instances, such as sg-0a1b2c3d.").Unordered().EmptyIsNull().
				Records("security_group", "group_id", 4),
			declare.Text("user_data", "UserData",
				"What instances are given at their first start, such as a shell script, as text and up to 16 KB.").
				Check("octet_length(user_data) <= 16384"),
			declare.JSON("data", "Data", `All else, in the words of the API (RequestLaunchTemplateData): {"IamInstanceProfile": {"Name": "web"}, "MetadataOptions": {"HttpTokens": "required"}}. User data that is no text is here, too.`).
				Check("jsonb_typeof(data) = 'object' AND NOT data ?| array['ImageId', 'InstanceType', 'KeyName', " +
					"'SecurityGroupIds']").EmptyIsNull().
				Same(declare.Alike[ec2types.RequestLaunchTemplateData](nil)),
			declare.Text("launch_template_id", "LaunchTemplateId",
				"The template's id, such as lt-0a1b2c3d.").Computed(),
			declare.Bigint("default_version", "DefaultVersionNumber", "The number of the default version.").Computed(),
			declare.Bigint("latest_version", "LatestVersionNumber", "The number of the latest version.").Computed(),
			declare.Text("eks_nodegroup", "Tags[eks:nodegroup-name]",
				"The node group of EKS that the template was made for by EKS itself.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeLaunchTemplate).Owner("launch_template_id"),
		},
		Published: declare.Published{Type: "AWS::EC2::LaunchTemplate", Since: 3,
			Columns: map[string]string{"LaunchTemplateData": "data", "TagSpecifications": "tags"},
		},
		Checks: []string{"num_nonnulls(image_id, instance_type, key_pair_name, security_group_ids, " +
			"user_data, data) > 0"},
		DestroyBeforeCreate: true, // one name is one template

		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("launchTemplateName", "CreateLaunchTemplate"),
			modules.Response("launchTemplate.launchTemplateId", "DeleteLaunchTemplate",
				"ModifyLaunchTemplate").In("launch_template_id"),
			modules.Response("launchTemplateVersion.launchTemplateId",
				"CreateLaunchTemplateVersion").In("launch_template_id"),
			modules.Request("launchTemplateId", "DeleteLaunchTemplateVersions").In("launch_template_id"),
			modules.Request("launchTemplateName", "DeleteLaunchTemplate", "ModifyLaunchTemplate",
				"CreateLaunchTemplateVersion", "DeleteLaunchTemplateVersions"),
		),
		List: declare.ListBy(func(ctx context.Context, s *declare.Step, page func([]template) error) error {
			all, err := templates(ctx, s, nil)
			if err != nil {
				return err
			}
			return page(all)
		}),
		Get: declare.GetBy(func(ctx context.Context, s *declare.Step, identities []modules.Row) (all []template,
			err error) {
			for names := range slices.Chunk(aws.Column(identities, "launch_template_name"), mostTemplates) {
				some, err := templates(ctx, s, []ec2types.Filter{aws.EC2Filter("launch-template-name", names...)})
				if err != nil {
					return nil, err
				}
				all = append(all, some...)
			}
			return all, nil
		}),
		Create: declare.Call((*ec2.Client).CreateLaunchTemplate,
			declare.Edit(func(_ context.Context, s *declare.Step, in *ec2.CreateLaunchTemplateInput) (err error) {
				in.LaunchTemplateData, err = request(s.Want)
				return err
			})),
		Updates: []declare.Update{declare.By(addVersion, "version_description", "image_id", "instance_type",
			"key_pair_name", "security_group_ids", "user_data", "data")},
		Delete: declare.Call((*ec2.Client).DeleteLaunchTemplate,
			declare.Fill(func(s *declare.Step, in *ec2.DeleteLaunchTemplateInput) {
				if id := s.Have["launch_template_id"]; !id.IsNull() { // another may have taken its name
					in.LaunchTemplateId, in.LaunchTemplateName = id.Ptr(), nil
				}
			})),
		Protected: ofNodeGroup,
	})
}

// templates reads launch templates with their default versions: all that there
// are, or those that a filter leaves. EC2 tells the versions of one template a
// call, or those of all.
func templates(ctx context.Context, s *declare.Step, filter []ec2types.Filter) ([]template, error) {
	found, err := declare.All[ec2types.LaunchTemplate](ctx, s,
		declare.Pages(ec2.NewDescribeLaunchTemplatesPaginator, "LaunchTemplates",
			declare.With(&ec2.DescribeLaunchTemplatesInput{Filters: filter, MaxResults: awssdk.Int32(mostTemplates)})))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	versions := &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Default"},
		MaxResults: awssdk.Int32(mostTemplates)}
	if len(found) == 1 {
		versions.LaunchTemplateId = found[0].LaunchTemplateId
	}
	byID := map[string]ec2types.LaunchTemplateVersion{}
	err = declare.Walk(ctx, s, declare.Pages(ec2.NewDescribeLaunchTemplateVersionsPaginator, "LaunchTemplateVersions",
		declare.With(versions)),
		func(some []ec2types.LaunchTemplateVersion) error {
			for _, v := range some {
				byID[awssdk.ToString(v.LaunchTemplateId)] = v
			}
			return nil
		})
	if len(found) == 1 && aws.IsNotFound(err) {
		return nil, nil // it has gone meanwhile
	}
	if err != nil {
		return nil, err
	}
	all := make([]template, len(found))
	for i, t := range found {
		version, ok := byID[awssdk.ToString(t.LaunchTemplateId)]
		if !ok {
			return nil, &modules.Error{Class: modules.Transient, Code: "NoVersion", Message: "the launch template " +
				awssdk.ToString(t.LaunchTemplateName) + " changed while it was read"}
		}
		if all[i], err = divided(t, version); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// divided returns a template with what its version says in the form of requests.
// What answers have besides is not kept.
func divided(t ec2types.LaunchTemplate, v ec2types.LaunchTemplateVersion) (template, error) {
	all := template{LaunchTemplate: t, Description: v.VersionDescription}
	raw, err := json.Marshal(v.LaunchTemplateData)
	if err == nil {
		err = json.Unmarshal(raw, &all.Version)
	}
	if err != nil {
		return all, fmt.Errorf("launch template %s: %w", awssdk.ToString(t.LaunchTemplateName), err)
	}
	all.Data = all.Version
	all.Data.ImageId, all.Data.InstanceType, all.Data.KeyName, all.Data.SecurityGroupIds, all.Data.Operator = nil, "",
		nil, nil, nil
	text, err := base64.StdEncoding.DecodeString(awssdk.ToString(all.Data.UserData))
	if err == nil && len(text) > 0 && utf8.Valid(text) && !strings.Contains(string(text), "\x00") {
		all.UserData, all.Data.UserData = awssdk.String(string(text)), nil
	}
	return all, nil
}

// request returns what a version of the template is to say.
func request(want modules.Row) (*ec2types.RequestLaunchTemplateData, error) {
	data := &ec2types.RequestLaunchTemplateData{}
	if err := aws.ParseDocument("data", want["data"], data); err != nil {
		return nil, err
	}
	data.ImageId, data.InstanceType, data.KeyName = want["image_id"].Ptr(),
		ec2types.InstanceType(want["instance_type"].String()), want["key_pair_name"].Ptr()
	data.SecurityGroupIds = want["security_group_ids"].Strings()
	if text := want["user_data"]; !text.IsNull() {
		data.UserData = awssdk.String(base64.StdEncoding.EncodeToString([]byte(text.String())))
	}
	return data, nil
}

// addVersion adds a version to a template and makes it the default.
func addVersion(ctx context.Context, s *declare.Step) error {
	data, err := request(s.Want)
	if err != nil {
		return err
	}
	client, id := declare.ClientOf[*ec2.Client](s), s.Have["launch_template_id"].Ptr()
	out, err := client.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: id, LaunchTemplateData: data, VersionDescription: s.Want["version_description"].Ptr(),
	})
	if err != nil {
		return err
	}
	number := fmt.Sprint(awssdk.ToInt64(out.LaunchTemplateVersion.VersionNumber))
	_, err = client.ModifyLaunchTemplate(ctx,
		&ec2.ModifyLaunchTemplateInput{LaunchTemplateId: id, DefaultVersion: &number})
	return err
}
