package declare

import (
	"strings"
	"testing"

	"iasql/internal/modules"
)

// Tags that users do not see tell who looks after an object, in what is read directly and in listings.
func TestManagerIsRead(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(2)
	for _, cage := range z.cages {
		z.tags[*cage.CageArn] = map[string]string{"aws:cloudformation:stack-name": "shop", "team": "a"}
	}
	r := bind(t, z.table())
	var listed []modules.Observation
	err := r.List(t.Context(), modules.ListRequest{Scope: here}, func(page []modules.Observation) error {
		listed = append(listed, page...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	read, err := r.Get(t.Context(),
		modules.GetRequest{Scope: here, Identities: []modules.Row{{"name": modules.Text("c00")}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) != 2 || len(read) != 1 {
		t.Fatal(listed, read)
	}
	for _, o := range append(listed, read...) {
		row := o.Row
		if o.Manager != "the CloudFormation stack shop" {
			t.Errorf("%s is managed by %q", row["name"], o.Manager)
		}
		if strings.Contains(row[modules.ColumnTags].String(), "aws:") {
			t.Errorf("users see %s", row[modules.ColumnTags])
		}
	}
}
