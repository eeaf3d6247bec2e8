package declare

import "time"

// skipFinalSnapshot is the column that says whether a deletion takes no snapshot.
const skipFinalSnapshot = "skip_final_snapshot"

// SkipFinalSnapshot declares the column skip_final_snapshot, for objects with data
// of which AWS takes a snapshot before it deletes them if it is asked to. It is
// Terraform's name. [Step.FinalSnapshot] goes by it.
func SkipFinalSnapshot() Column {
	return Bool(skipFinalSnapshot, "",
		"Whether deleting or replacing it takes no final snapshot. It has to be set before the row is deleted; AWS "+
			"does not know of it.").
		Default("false").Local()
}

// FinalSnapshot returns the name of the snapshot that the deletion of an object of
// that name takes: the name, -final- and the time. It is nil where the record says
// that none is to be taken. Where there is no record, one is.
func (s *Step) FinalSnapshot(name string) *string {
	if s.Have[skipFinalSnapshot].Bool() {
		return nil
	}
	name += "-final-" + time.Now().UTC().Format("20060102150405")
	return &name
}
