package likeness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// speed is how much faster than AWS the likeness is for the worked examples, which wait
// for a minute at most.
const speed = 240

// Worked examples run before the likeness as they do before the emulator, and leave nothing
// undone. IASQL_TEST_EXAMPLES=all has all of them run.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/modules/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		module := strings.TrimSuffix(filepath.Base(file), ".sql")
		if os.Getenv("IASQL_TEST_EXAMPLES") != "all" &&
			!slices.Contains([]string{"aws_s3", "aws_sns", "aws_cloudfront", "aws_dynamo"}, module) {
			continue
		}
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			w := harness.NewWorld(t)
			defaultGateway(w)
			w.Endpoint = likeness.Start(t, w.AWS.Endpoint, likeness.AWS(w.AWS.Endpoint, speed)...).URL
			w.Serve()
			w.Install(east, module)
			w.PSQL(fmt.Sprintf(`UPDATE iasql_settings SET value = '%d milliseconds' WHERE name = 'consistency_window'`,
				likeness.Window(speed).Milliseconds()))
			if out, err := exec.Command("psql", "-X", "-v", "ON_ERROR_STOP=1", "--echo-queries", "-f", file,
				w.UserURL).CombinedOutput(); err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			settles(t, w, "nothing to be left")
		})
	}
}

// defaultGateway gives the default VPC the internet gateway that AWS makes with it ("Default
// VPCs", Amazon VPC User Guide); the emulator's has none.
func defaultGateway(w *harness.World) {
	w.Helper()
	vpc := w.CLI("ec2", "describe-vpcs", "--filters",
		"Name=is-default,Values=true")["Vpcs"].([]any)[0].(map[string]any)["VpcId"].(string)
	gateway := w.CLI("ec2", "create-internet-gateway")["InternetGateway"].(map[string]any)["InternetGatewayId"].(string)
	w.CLI("ec2", "attach-internet-gateway", "--internet-gateway-id", gateway, "--vpc-id", vpc)
}
