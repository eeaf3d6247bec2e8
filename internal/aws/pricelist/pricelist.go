// Package pricelist reads price lists of AWS, and says which record costs what by them.
//
// A price list is an offer file of the bulk API
// (https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-an-offer-file.html) or an
// answer of GetProducts
// (https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html).
// Which products are of which table stands in rules.csv: what costs money by being there, and
// nothing that is paid by its use.
package pricelist

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Price is one row of iasql_prices.
type Price struct {
	Table     string             `json:"table_name"`
	Component string             `json:"component"`
	Match     map[string]*string `json:"match"`  // nil: NULL
	Region    *string            `json:"region"` // nil: any
	Monthly   string             `json:"monthly"`
	Per       *string            `json:"per"`
	Included  string             `json:"included"`
}

// key is what may be there once.
func (p *Price) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", p.Table, p.Component)
	columns := make([]string, 0, len(p.Match))
	for column := range p.Match {
		columns = append(columns, column)
	}
	slices.Sort(columns)
	for _, column := range columns {
		if value := p.Match[column]; value != nil {
			fmt.Fprintf(&b, ", %s %q", column, *value)
		} else {
			fmt.Fprintf(&b, ", no %s", column)
		}
	}
	if p.Region != nil {
		b.WriteString(" in " + *p.Region)
	}
	return b.String()
}

// A rule is a row of rules.csv.
type rule struct {
	offer            string
	families         []string // none: a product need not be of any
	filters          []filter
	table, component string
	columns          []column
	units            []string // none: the rule is about no product, and nothing is to be paid
	factor           *big.Rat
	per, included    string
}

// constant reports whether nothing is to be paid for what a rule is about, whatever the list says.
func (r *rule) constant() bool { return len(r.units) == 0 }

// A filter says what an attribute of a product must be, or with not must not be.
type filter struct {
	attribute string
	is        *regexp.Regexp
	not       bool
}

// A column is what a record must have: one of some values, or what an attribute of the product is
// called here.
type column struct {
	name      string
	values    []string // "null": NULL
	attribute string
	names     map[string][]string // by the attribute's value; nil: as it is
}

// alternatives returns what the column may be for a product; none if the product is none of the rule's.
func (c *column) alternatives(attributes map[string]string) []string {
	switch value := attributes[c.attribute]; {
	case c.attribute == "":
		return c.values
	case value == "":
		return nil
	case c.names == nil:
		return []string{value}
	default:
		return c.names[value]
	}
}

//go:embed rules.csv
var source string

// rules are the rows of rules.csv by offer.
var rules = sync.OnceValue(func() map[string][]*rule {
	rows, err := csv.NewReader(strings.NewReader(source)).ReadAll()
	if err != nil {
		panic(err) // a test reads it
	}
	byOffer := map[string][]*rule{}
	for _, row := range rows[1:] {
		r := &rule{offer: row[0], families: alternatives(row[1]), table: row[3], component: row[4],
			units: alternatives(row[6]), factor: new(big.Rat), per: row[8], included: row[9]}
		for _, text := range list(row[2], ";") {
			name, is, _ := strings.Cut(text, "=")
			attribute, not := strings.CutSuffix(name, "!")
			r.filters = append(r.filters, filter{attribute, pattern(is), not})
		}
		for _, text := range list(row[5], ";") {
			r.columns = append(r.columns, parseColumn(text))
		}
		if _, ok := r.factor.SetString(row[7]); !ok {
			panic("a factor is " + row[7])
		}
		byOffer[r.offer] = append(byOffer[r.offer], r)
	}
	return byOffer
})

// Offers returns the names of the offers that have rules.
func Offers() (offers []string) {
	for offer := range rules() {
		offers = append(offers, offer)
	}
	slices.Sort(offers)
	return offers
}

// Columns returns the columns of tables that prices are about.
func Columns() map[string][]string {
	columns := map[string][]string{}
	for _, of := range rules() {
		for _, r := range of {
			for _, c := range r.columns {
				columns[r.table] = append(columns[r.table], c.name)
			}
			if r.per != "" {
				columns[r.table] = append(columns[r.table], r.per)
			}
		}
	}
	for table := range columns {
		slices.Sort(columns[table])
		columns[table] = slices.Compact(columns[table])
	}
	return columns
}

// parseColumn reads column=value|value or column<attribute{its value:value|value,…}.
func parseColumn(text string) column {
	if name, values, ok := strings.Cut(text, "="); ok {
		return column{name: name, values: alternatives(values)}
	}
	name, attribute, _ := strings.Cut(text, "<")
	attribute, names, translated := strings.Cut(strings.TrimSuffix(attribute, "}"), "{")
	c := column{name: name, attribute: attribute}
	if translated {
		c.names = map[string][]string{}
		for _, pair := range list(names, ",") {
			theirs, ours, _ := strings.Cut(pair, ":")
			c.names[theirs] = alternatives(ours)
		}
	}
	return c
}

// prefix is what a region's usage types begin with, such as EU- or USE1-; those of us-east-1 may have none. TS- is no
// region: a trust store.
const prefix = `(?:(?:[A-SU-Z][A-Z]{1,3}|T[A-RT-Z][A-Z]{0,2}|TS[A-Z]{1,2})[0-9]*-)?`

// pattern makes an expression of alternatives in which [P] is a region's prefix and * is anything.
func pattern(text string) *regexp.Regexp {
	var branches []string
	for _, branch := range alternatives(text) {
		branch = strings.ReplaceAll(regexp.QuoteMeta(branch), `\*`, `.*`)
		branches = append(branches, strings.ReplaceAll(branch, `\[P\]`, prefix))
	}
	return regexp.MustCompile(`^(?:` + strings.Join(branches, "|") + `)$`)
}

func alternatives(text string) []string { return list(text, "|") }

// list splits a text; of nothing it is nothing.
func list(text, separator string) (parts []string) {
	for part := range strings.SplitSeq(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// is reports whether a product is one of the rule's.
func (r *rule) is(p *product) bool {
	// Outposts, Local Zones and Wavelength are sold under the region's name, too.
	if r.constant() || len(r.families) > 0 && !slices.Contains(r.families, p.Family) ||
		p.Attributes["locationType"] != "AWS Region" || p.Attributes["regionCode"] == "" {
		return false
	}
	for _, f := range r.filters {
		if value := p.Attributes[f.attribute]; f.is.MatchString(value) == f.not {
			return false
		}
	}
	return true
}

// prices returns the rows for a product that costs so much a unit; for a constant rule product is nil.
func (r *rule) prices(p *product, unit *big.Rat) []Price {
	monthly := new(big.Rat).Mul(unit, r.factor)
	digits, _ := monthly.FloatPrec()
	base := Price{Table: r.table, Component: r.component, Monthly: monthly.FloatString(min(digits, 20)), Included: "0"}
	if r.per != "" {
		base.Per = &r.per
	}
	if r.included != "" {
		base.Included = r.included
	}
	var attributes map[string]string
	if p != nil {
		attributes = p.Attributes
		region := attributes["regionCode"]
		base.Region = &region
	}
	matches := []map[string]*string{{}}
	for i := range r.columns {
		c := &r.columns[i]
		var more []map[string]*string
		for _, value := range c.alternatives(attributes) {
			for _, match := range matches {
				next := map[string]*string{c.name: nil}
				for name, had := range match {
					next[name] = had
				}
				if value != "null" {
					next[c.name] = &value
				}
				more = append(more, next)
			}
		}
		matches = more
	}
	prices := make([]Price, len(matches))
	for i, match := range matches {
		prices[i] = base
		prices[i].Match = match
	}
	return prices
}

// AssumeLinux prices instances that are not there yet as what runs Linux on a shared host on demand: until one is
// there, AWS does not say as what it is billed.
func (l *List) AssumeLinux() {
	var more []Price
	for _, price := range l.Prices {
		operation, tenancy := price.Match["usage_operation"], price.Match["tenancy"]
		if price.Table != "instance" || operation == nil || *operation != "RunInstances" || tenancy == nil ||
			*tenancy != "default" {
			continue
		}
		for _, tenancy := range []*string{nil, tenancy} {
			assumed := price
			assumed.Match = maps.Clone(price.Match)
			assumed.Match["usage_operation"], assumed.Match["tenancy"] = nil, tenancy
			more = append(more, assumed)
		}
	}
	l.Prices = append(l.Prices, more...)
}
