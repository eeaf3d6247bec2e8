package storetest

import (
	"testing"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

// RunUndo undoes a batch that has deleted a record, whose object has become that of
// another record of the batch meanwhile: a creation in doubt had made it, and the deleted
// record had named it first. The one that has it keeps it, and the other comes back
// without. (Random scripts hardly ever do all of that.)
func RunUndo(t *testing.T, open func(testing.TB) Store) {
	t.Helper()
	ctx, s, job := t.Context(), open(t), tableOf("job")
	defer s.Close()
	must := func(what string, ok bool, err error) {
		t.Helper()
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", what, ok, err)
		}
	}
	lease, err := s.Take(ctx)
	must("take the lease", true, err)
	row := func(id modules.Value) modules.Row {
		return modules.Row{modules.ColumnAccount: modules.Text(simulate.Account), "job_id": id,
			"image": modules.Text("i"), "spec": modules.Text("a")}
	}
	made, ok, err := s.Insert(ctx, 0, job.Name, 0, row(modules.Null))
	must("insert what is created", ok, err)
	adopts, ok, err := s.Insert(ctx, 0, job.Name, 0, row(modules.Text("job-1")))
	must("insert what adopts", ok, err)
	lease.Batch, err = s.OpenBatch(ctx, 1)
	must("open a batch", lease.Batch != 0, err)
	ok, err = s.Update(ctx, 1, job.Name, made, modules.Row{"spec": modules.Text("b")})
	must("change what is created", ok, err)
	ok, err = s.Delete(ctx, 1, job.Name, adopts)
	must("delete what adopts", ok, err)
	ok, err = s.Commit(ctx, 1)
	must("end the transaction", ok, err)
	ok, err = s.BeginCommit(ctx, 1)
	must("begin the commit", ok, err)

	loaded, err := s.Load(ctx, job, []int64{made})
	must("load", len(loaded) == 1, err)
	pulled, err := s.Pull(ctx, lease,
		[]store.Pull{{Subject: loaded[0], Action: decide.UpdateRecord,
			Row: modules.Row{"job_id": modules.Text("job-1")}}})
	must("pull the identity", len(pulled) == 1 && pulled[0].Applied, err)

	ok, err = s.RevertBatch(ctx, 1)
	must("undo", ok, err)
	rows, err := s.Rows(ctx, job.Name)
	must("read", len(rows) == 2, err)
	if id := rows[0].Row["job_id"]; rows[0].ID != made || id != modules.Text("job-1") {
		t.Errorf("record %d, which had become the object's, is %s", made, id)
	}
	if id := rows[1].Row["job_id"]; rows[1].ID != adopts || !id.IsNull() {
		t.Errorf("record %d, which was deleted, is back as %s", adopts, id)
	}
	if spec := rows[0].Row["spec"]; spec != modules.Text("a") {
		t.Errorf("what the batch changed is still %s", spec)
	}
}
