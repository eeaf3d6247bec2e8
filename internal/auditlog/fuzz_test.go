package auditlog

import (
	"encoding/json"
	"testing"

	"iasql/internal/modules"
)

// The audit log's images become rows, and rows images, without a loss.
func FuzzRow(f *testing.F) {
	f.Add([]byte(`{"text": "a\u0000", "texts": ["b"], "json": {"a": 1e2}, "number": 7, "flag": true, "time": "2026-01-02T03:04:05+00:00", "cidr": "10.0.0.0/8", "secret": "x", "mine": [1]}`))
	f.Add([]byte(`{"json": "text", "double": 1.50, "text": null, "number": "8", "texts": null}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"text": {"a": 1}, "flag": "t"}`))
	f.Add([]byte(`{"reference": 7, "text": "replaced:7"}`))
	f.Add([]byte(`{"reference": "replaced:7", "number": 1}`))
	f.Add([]byte(`{"reference": "object:vpc-1\u0000"}`))
	column := func(name string, kind modules.Type) modules.Column { return modules.Column{Name: name, Type: kind} }
	table := &modules.Table{Name: "t",
		Columns: []modules.Column{column("text", modules.TypeText), column("texts", modules.TypeTexts),
			column("json", modules.TypeJSON),
			column("number", modules.TypeBigint), column("double", modules.TypeDouble),
			column("flag", modules.TypeBool),
			column("time", modules.TypeTime), column("cidr", modules.TypeCIDR),
			{Name: "secret", Type: modules.TypeText, WriteOnly: true},
			{Name: "reference", Type: modules.TypeBigint, References: &modules.Reference{Table: "t", Key: "text"}}}}
	f.Fuzz(func(t *testing.T, image []byte) {
		row, err := Row(table, image)
		if err != nil || row == nil {
			return
		}
		back := map[string]json.RawMessage{}
		for name, v := range row {
			back[name] = ToJSON(table.Column(name), v)
		}
		raw, err := json.Marshal(back)
		if err != nil {
			t.Fatalf("%s: %v", image, err)
		}
		again, err := Row(table, raw)
		if err != nil || len(again) != len(row) {
			t.Fatalf("%s becomes %s: %v", image, raw, err)
		}
		for name, v := range row {
			if again[name] != v {
				t.Errorf("%s: %q becomes %q", name, v, again[name])
			}
		}
		var c *Change
		for i, kind := range []string{"UPDATE", "DELETE", "INSERT", "UPDATE"} {
			c = c.Fold(table, Entry{ID: int64(i), Type: kind, Original: row})
		}
		if c.Latest() != 3 || c.Delete {
			t.Errorf("%+v", c)
		}
	})
}
