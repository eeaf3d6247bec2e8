package decide

import (
	"fmt"

	"iasql/internal/modules"
)

// Verdict is what follows from asking an account who it is (R27).
type Verdict struct {
	Said string // "" if it gave no answer
	// Pin: it is asked for the first time, and is from now on who it said it is.
	Pin bool
	// Held says why nothing is done about the account, "" if something is. Ask: a person's word is needed.
	Held string
	Ask  bool
}

// Judge is R27: what follows from who an account said it is, and who it was; "" if nobody has asked it before.
func Judge(was string, now modules.Identity, err error) Verdict {
	said := now.Said
	switch {
	case err != nil && now.Vouched && modules.ClassOf(err) != modules.Denied:
		// It was who it is a moment ago. That its calls fail as well they say themselves.
		return Verdict{}
	case err != nil:
		return Verdict{Held: fmt.Sprintf("nothing is pushed or pulled until it is known who it is: %v",
			err)}
	case was == "" && now.Unproven:
		return Verdict{Said: said, Ask: true,
			Held: fmt.Sprintf("it says that it is %s, and nobody has confirmed that yet: nothing is pushed or pulled. "+
				"Look whether that is right, and then SELECT iasql_confirm('identity')", said)}
	case was == "":
		return Verdict{Said: said, Pin: true}
	case said != was:
		return Verdict{Said: said, Ask: true,
			Held: fmt.Sprintf("it says that it is %s, and it was %s: nothing is pushed or pulled. Put the right "+
				"credentials and address back; or, if the tables are to follow the other one, SELECT "+
				"iasql_confirm('identity')", said, was)}
	}
	return Verdict{Said: said}
}
