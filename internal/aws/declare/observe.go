package declare

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// observations returns rows with what they show of their objects.
func (r *Resource) observations(rows []modules.Row) []modules.Observation {
	all := make([]modules.Observation, len(rows))
	for i, row := range rows {
		o := modules.Observation{Row: row, Protected: r.Protected(row), Manager: r.ManagedBy(row)}
		o.Phase, o.Reason = r.Phase(row)
		delete(row, aws.MarkTags)
		all[i] = o
	}
	return all
}

// Phase implements [modules.Phaser].
func (r *Resource) Phase(row modules.Row) (modules.Phase, string) {
	if r.going.Holds(row) {
		return modules.Going, ""
	}
	if r.failed != nil {
		if why := r.failed(row); why != "" {
			return modules.Failed, why
		}
	}
	if r.forming.Holds(row) || r.unready != nil && r.unready(row) {
		return modules.Forming, ""
	}
	return modules.There, ""
}
