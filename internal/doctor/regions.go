package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// notOptedIn is what DescribeRegions says of regions that the account cannot use.
const notOptedIn = "not-opted-in"

// examineRegions finds the regions that can be read, and reports whether there are
// any.
func (d *doctor) examineRegions(ctx context.Context) bool {
	d.Progress("looking at the regions")
	listed, err := d.describeRegions(ctx, "", &ec2.DescribeRegionsInput{AllRegions: awssdk.Bool(true)})
	if err != nil {
		return d.regionsUnknown(err)
	}
	for _, r := range listed {
		name, status := awssdk.ToString(r.RegionName), awssdk.ToString(r.OptInStatus)
		enabled := status != notOptedIn
		d.report.Regions = append(d.report.Regions, Region{Name: name, OptIn: status, Enabled: enabled,
			Chosen: enabled && (len(d.Regions) == 0 || slices.Contains(d.Regions, name))})
	}
	slices.SortFunc(d.report.Regions, func(a, b Region) int { return strings.Compare(a.Name, b.Name) })
	d.unavailable()
	d.probe(ctx)
	return len(d.regions) > 0
}

// regionsUnknown goes on with the regions that were named, or the default one.
func (d *doctor) regionsUnknown(err error) bool {
	check := Check{ID: "regions.enabled", Status: Failure, Message: "the regions cannot be listed: " + said(err),
		Advice: adviceOf(err)}
	if modules.ClassOf(err) == modules.Denied {
		check.Message = "the regions cannot be listed: ec2:DescribeRegions is denied: " + said(err)
		check.Advice = "allow ec2:DescribeRegions: the module aws_account, which all others depend on, needs it"
	}
	d.report.add(check)
	if d.regions = d.Regions; len(d.regions) == 0 {
		d.regions = []string{d.report.Account.Region}
	}
	return true
}

// unavailable names regions that were asked for and are not enabled.
func (d *doctor) unavailable() {
	var on, off, unknown []string
	for _, r := range d.report.Regions {
		if r.Enabled {
			on = append(on, r.Name)
		} else {
			off = append(off, r.Name)
		}
	}
	for _, name := range d.Regions {
		if !slices.Contains(on, name) {
			unknown = append(unknown, name)
		}
	}
	check := Check{ID: "regions.enabled", Status: OK, Message: fmt.Sprintf("%d enabled, %d not", len(on), len(off))}
	if len(on) > 0 {
		check.Details = append(check.Details, "enabled: "+strings.Join(on, ", "))
	}
	if len(unknown) > 0 {
		check.Status, check.Message = Failure, "the account has not enabled "+list(unknown)
		check.Advice = "enable the region in the account's settings, or leave it out of --regions"
	}
	d.report.add(check)
}

// probe makes one cheap call in each region that is to be read, which tells
// whether a policy of the organization keeps the account out of it (AWS
// Organizations User Guide, "Service control policies": aws:RequestedRegion). It is
// a call that every policy of the engine allows.
func (d *doctor) probe(ctx context.Context) {
	var chosen []*Region
	for i := range d.report.Regions {
		if r := &d.report.Regions[i]; r.Chosen {
			chosen = append(chosen, r)
		}
	}
	failures := make([]error, len(chosen))
	_ = aws.Each(ctx, d.Concurrency, slices.Collect(indices(len(chosen))), func(ctx context.Context, i int) error {
		_, failures[i] = d.describeRegions(ctx, chosen[i].Name,
			&ec2.DescribeRegionsInput{RegionNames: []string{chosen[i].Name}})
		return nil
	})
	var denied []string
	advice := "take the region out of aws_regions (is_enabled = false), or allow the engine's calls in it"
	for i, r := range chosen {
		if failures[i] == nil {
			d.regions = append(d.regions, r.Name)
			continue
		}
		r.Denied = said(failures[i])
		denied = append(denied, r.Name+": "+r.Denied)
		if modules.ClassOf(failures[i]) != modules.Denied {
			advice = adviceOf(failures[i])
		}
	}
	check := Check{ID: "regions.readable", Status: OK, Message: "all of " + count(len(chosen), "region")}
	switch {
	case len(d.regions) == 0:
		check = Check{ID: "regions.readable", Status: Failure, Message: "none", Details: denied, Advice: advice}
	case len(denied) > 0:
		check = Check{ID: "regions.readable", Status: Warning,
			Message: fmt.Sprintf("%d of %d", len(d.regions), len(chosen)), Details: denied, Advice: advice}
		if len(d.Regions) > 0 {
			check.Status = Failure // it was named
		}
	}
	d.report.add(check)
}

// indices counts from 0 to n-1.
func indices(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func (d *doctor) describeRegions(ctx context.Context, region string, in *ec2.DescribeRegionsInput) ([]ec2types.Region,
	error) {
	client, err := d.Clients.EC2(ctx, modules.Scope{Account: d.scope.Account, Region: region})
	if err != nil {
		return nil, err
	}
	out, err := client.DescribeRegions(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Regions, nil
}
