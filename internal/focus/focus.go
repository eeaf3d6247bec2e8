// Package focus reads bills in the FinOps Open Cost and Usage Specification (FOCUS 1.0 and later,
// https://focus.finops.org/focus-specification/): a CSV file with a row a charge.
package focus

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Bill is what resources cost in one billing period.
type Bill struct {
	Currency   string              // ISO 4217
	Start, End time.Time           // of the billing period
	Until      time.Time           // when the last charge ends; before End: there are more to come
	Resources  map[string]*big.Rat // by ResourceId: the sum of EffectiveCost
	Nobodys    *big.Rat            // what is of no resource, such as taxes and support
	Earlier    int                 // charges of earlier billing periods, which are left out

	charges int // of the period that counts
}

// columns are those that a bill must have.
var columns = []string{"EffectiveCost", "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodEnd",
	"ResourceId"}

// number is what the specification calls a numeric value; one with an exponent of thousands would take all memory.
var number = regexp.MustCompile(`^[+-]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?$`)

// Read adds the charges of a file to the bill. Of several billing periods the last one counts.
func (b *Bill) Read(in io.Reader) error {
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return errors.Join(errors.New("it is no bill in CSV"), err)
	}
	at := map[string]int{}
	for i, name := range header {
		at[strings.TrimPrefix(strings.TrimSpace(name), "\ufeff")] = i
	}
	var lacks []string
	for _, name := range columns {
		if _, ok := at[name]; !ok {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("it is no bill of FOCUS: it has no column %s", strings.Join(lacks, ", "))
	}
	if b.Resources == nil {
		b.Resources, b.Nobodys = map[string]*big.Rat{}, new(big.Rat)
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := rows.FieldPos(0)
		if err := b.add(func(name string) string { return strings.TrimSpace(row[at[name]]) }); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// add adds a charge.
func (b *Bill) add(value func(column string) string) error {
	var times [3]time.Time
	for i, name := range columns[2:5] {
		at, err := parseTime(value(name))
		if err != nil {
			return fmt.Errorf("%s is %.60q, and no time such as 2026-10-01T00:00:00Z", name, value(name))
		}
		times[i] = at
	}
	switch start := times[0]; {
	case start.Before(b.Start):
		b.Earlier++
		return nil
	case start.After(b.Start):
		b.Earlier, b.charges = b.Earlier+b.charges, 0
		b.Start, b.End, b.Until = start, times[1], time.Time{}
		clear(b.Resources)
		b.Nobodys = new(big.Rat)
	}
	if times[2].After(b.Until) {
		b.Until = times[2]
	}
	text := value("EffectiveCost")
	if !number.MatchString(text) {
		return fmt.Errorf("EffectiveCost is %.60q, and no number", text)
	}
	cost, _ := new(big.Rat).SetString(text)
	if currency := value("BillingCurrency"); b.Currency == "" {
		b.Currency = currency
	} else if currency != b.Currency {
		return fmt.Errorf("it is in %.10q, and those before in %.10q", currency, b.Currency)
	}
	b.charges++
	resource := value("ResourceId")
	if resource == "" || strings.EqualFold(resource, "null") {
		b.Nobodys.Add(b.Nobodys, cost)
		return nil
	}
	if b.Resources[resource] == nil {
		b.Resources[resource] = new(big.Rat)
	}
	b.Resources[resource].Add(b.Resources[resource], cost)
	return nil
}

// parseTime reads the specification's form of a time, and what databases export instead.
func parseTime(text string) (at time.Time, err error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05.999999999 MST",
		"2006-01-02 15:04:05", time.DateOnly} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, err
}

// Names returns the resources in order.
func (b *Bill) Names() []string {
	names := make([]string, 0, len(b.Resources))
	for name := range b.Resources {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
