package aws

import (
	"errors"

	"iasql/internal/modules"
)

// HasCode reports whether err is an answer of AWS with that code.
func HasCode(err error, code string) bool {
	var e *modules.Error
	return errors.As(err, &e) && e.Code == code
}
