package awselb

import (
	"testing"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/modules"
)

// A load balancer that is replaced because its scheme changes leaves its name for a while: what still has it is not
// taken for its successor.
func TestPredecessorIsNotTakenOver(t *testing.T) {
	t.Parallel()
	want := modules.Row{"load_balancer_type": modules.Text("application"), "scheme": modules.Text("internal")}
	was := elbtypes.LoadBalancer{Type: elbtypes.LoadBalancerTypeEnumApplication,
		Scheme: elbtypes.LoadBalancerSchemeEnumInternetFacing}
	if isWanted(was, want) {
		t.Error("the predecessor is taken over")
	}
	if was.Scheme = elbtypes.LoadBalancerSchemeEnumInternal; !isWanted(was, want) {
		t.Error("what the creation has made is not found again")
	}
	if delete(want, "scheme"); !isWanted(was, want) {
		t.Error("nobody has asked for a scheme")
	}
}
