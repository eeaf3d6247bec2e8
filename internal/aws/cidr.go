package aws

import (
	"net/netip"

	"iasql/internal/modules"
)

// CIDR returns the value of a column of type cidr; nil and "" are NULL.
func CIDR(text *string) (modules.Value, error) {
	if text == nil || *text == "" {
		return modules.Null, nil
	}
	prefix, err := netip.ParsePrefix(*text)
	if err != nil {
		return modules.Null, err
	}
	return modules.Text(prefix.Masked().String()), nil
}
