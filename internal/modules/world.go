package modules

import "context"

// World is a kind of thing that can be kept equal to tables: the cloud of a provider. The core knows it by this alone.
// It tells of the attempts of its calls by [Traced].
type World interface {
	// Identify asks an account who it is (R27), and returns that as the world spells it: the same text for the same
	// account for ever, and another for any other. It must be asked with the very credentials that the calls of a cycle
	// are made with. Unless fresh, what the same credentials were answered before will do.
	//
	// An error of class [Denied] says that it may not be used at all: the credentials are refused, or are of an account
	// that the tables do not allow. Any other leaves open who it is.
	Identify(ctx context.Context, scope Scope, fresh bool) (Identity, error)
}

// Worlds are the worlds there are, by their provider. Of one that is missing nobody asks who its accounts are.
type Worlds map[string]World

// Identity is what an account answers that is asked who it is.
type Identity struct {
	// Said is who it is, as its world spells it; "" if it gave no answer.
	Said string
	// Vouched: the same credentials have been answered before by this process. It counts with an error, too.
	Vouched bool
	// Unproven: nothing but its own word says that it is what was meant, as with a server whose key nobody has seen
	// before. The first time, too, a person confirms it.
	Unproven bool
}

// Examples are what people are shown where there is nothing of a world yet.
type Examples struct {
	Module      string // one that shows what there is
	TypePattern string // of names of resource types; "" where there are none
	WatchEvents string // the statement that has the world's events read; "" if it tells of nothing
}

// Places says how a world's objects lie in each other, for whoever draws them. What lies in which is
// said by the references of their records.
type Places struct {
	// Containers are the tables of what contains others, from the outside in: networks, and then
	// their parts. A record lies in the innermost one that it refers to, or in what encloses those that
	// it refers to.
	Containers []string
	// Through are the tables of groups of containers: what refers to a group lies where the group does.
	Through []string
	// Called is what people call the outermost containers: "Network".
	Called string
}

// Accounts returns the table of a provider's accounts, and the module that has it; nil if
// there is none.
func (r *Registry) Accounts(provider string) (*Module, *Table) {
	for _, m := range r.Modules() {
		for _, t := range m.Settings {
			if t.DefinesAccounts && t.Provider == provider {
				return m, t
			}
		}
	}
	return nil, nil
}
