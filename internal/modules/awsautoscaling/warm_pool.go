package awsautoscaling

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// noMost is the MaxGroupPreparedCapacity that takes away one which has been set (page PutWarmPool).
const noMost = -1

// warmPoolColumn is the warm pool of a group.
func warmPoolColumn() declare.Column {
	return declare.JSON("warm_pool", "WarmPoolConfiguration",
		`Which instances are kept ready beside those in service: {"PoolState": "Stopped", "MinSize": 1, "MaxGroupPreparedCapacity": 4, "InstanceReusePolicy": {"ReuseOnScaleIn": true}}. `+
			"{} is a pool with what AWS does if nothing is said. NULL: no warm pool; AWS ends its instances then.").
		Check("jsonb_typeof(warm_pool) = 'object'").As(warmPool).Same(declare.Alike(usualWarmPool)).Since(5)
}

// warmPool is in the words of PutWarmPool. A pool that AWS deletes is as good as gone.
var warmPool = declare.Codec{Decode: func(member any) (modules.Value, error) {
	p := member.(astypes.WarmPoolConfiguration)
	if p.Status == astypes.WarmPoolStatusPendingDelete {
		return modules.Null, nil
	}
	return aws.Document(p)
}}

// usualWarmPool fills in what AWS does.
func usualWarmPool(p *astypes.WarmPoolConfiguration) {
	p.PoolState = cmp.Or(p.PoolState, astypes.WarmPoolStateStopped)
	declare.Or(&p.MinSize, 0)
	declare.Or(&p.MaxGroupPreparedCapacity, noMost)
	declare.Or(&p.InstanceReusePolicy, astypes.InstanceReusePolicy{})
	declare.Or(&p.InstanceReusePolicy.ReuseOnScaleIn, false)
}

// setWarmPool makes, changes or deletes the pool. ForceDelete, which does not wait for the pool's instances and their
// hooks, is not used.
func setWarmPool(ctx context.Context, s *declare.Step) error {
	client, name := declare.ClientOf[*autoscaling.Client](s), s.Have["auto_scaling_group_name"].Ptr()
	want := s.Want["warm_pool"]
	if want.IsNull() {
		_, err := client.DeleteWarmPool(ctx, &autoscaling.DeleteWarmPoolInput{AutoScalingGroupName: name})
		return aws.IfExists(err)
	}
	var p astypes.WarmPoolConfiguration
	if err := aws.ParseDocument("warm_pool", want, &p); err != nil {
		return err
	}
	usualWarmPool(&p)
	in := &autoscaling.PutWarmPoolInput{AutoScalingGroupName: name, PoolState: p.PoolState, MinSize: p.MinSize,
		MaxGroupPreparedCapacity: p.MaxGroupPreparedCapacity, InstanceReusePolicy: p.InstanceReusePolicy}
	if s.Have["warm_pool"].IsNull() && *p.MaxGroupPreparedCapacity == noMost {
		in.MaxGroupPreparedCapacity = nil // there is none to take away
	}
	_, err := client.PutWarmPool(ctx, in)
	return err
}
