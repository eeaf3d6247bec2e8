package operation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// With --log-format json every line is an object. What fails says in fields, not in
// prose, where it belongs: to the account, the record, the cycle and the entry of the
// intent log, by the numbers that SQL has for them.
func TestLogsAreStructured(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	w.Args = []string{"--log-format", "json"}
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_vpc")
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.7.0.0/16', '{"Name": "net"}')`)
	w.Settled()
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block, availability_zone)
		SELECT id, '192.168.0.0/24', 'us-east-1a' FROM vpc WHERE cidr_block = '10.7.0.0/16'`) // outside: InvalidSubnet.Range
	var record, operation, cycle float64
	w.Eventually(30*time.Second, "a failed operation", func() bool {
		out := w.PSQL(`SELECT record_id, id, cycle_id FROM iasql_operations WHERE table_name = 'subnet' AND result = 'failed' ORDER BY id LIMIT 1`)
		_, err := fmt.Sscanf(strings.ReplaceAll(out, "|", " "), "%f %f %f", &record, &operation, &cycle)
		return err == nil
	})
	account := w.PSQL(`SELECT name FROM aws_account`)

	find := func(ok func(line map[string]any) bool) bool {
		for text := range strings.Lines(engine.Log()) {
			var line map[string]any
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("not JSON: %s", text)
			}
			for _, field := range []string{"time", "level", "msg"} {
				if line[field] == nil {
					t.Fatalf("no %s: %s", field, text)
				}
			}
			if ok(line) {
				return true
			}
		}
		return false
	}
	w.Eventually(10*time.Second, "a line of the log about the failure", func() bool {
		return find(func(line map[string]any) bool {
			return line["msg"] == "failed" && line["level"] == "WARN" && line["account"] == account &&
				line["region"] == "us-east-1" && line["table"] == "subnet" &&
				line["record"] == record && line["operation"] == operation && line["cycle"] == cycle &&
				line["engine"] != nil &&
				strings.Contains(fmt.Sprint(line["error"]), "InvalidSubnet.Range")
		})
	})
	w.Eventually(10*time.Second, "a line about a cycle that changed something", func() bool {
		return find(func(line map[string]any) bool {
			return line["msg"] == "cycle ended" && line["account"] == account && line["cycle"] != nil &&
				line["pushed"] == 1.0
		})
	})
}
