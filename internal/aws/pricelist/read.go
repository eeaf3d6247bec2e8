package pricelist

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// A List is what a price list says.
type List struct {
	Offer     string // such as AmazonEC2
	Published string // when, as the list says it
	Currency  string // ISO 4217
	Regions   []string
	Prices    []Price
	Products  int      // how many the list has
	Left      []string // what could not be taken though it is about a table, and why
}

// errNoList says what a price list is.
var errNoList = errors.New("it is no price list of AWS: neither an offer file (products and terms) nor an answer of " +
	"GetProducts (PriceList)")

// amount is how a list says a price.
var amount = regexp.MustCompile(`^[0-9]{1,20}(\.[0-9]{1,20})?$`)

// product is one thing that is sold.
type product struct {
	SKU        string            `json:"sku"`
	Family     string            `json:"productFamily"`
	Attributes map[string]string `json:"attributes"`
}

// term is a way to buy it.
type term struct {
	Dimensions map[string]struct {
		Unit  string            `json:"unit"`
		Price map[string]string `json:"pricePerUnit"`
	} `json:"priceDimensions"`
}

// wanted is a product that rules are about.
type wanted struct {
	product *product
	rules   []*rule
}

// reader reads one list. It keeps the products that it has rules for and nothing else: a list may have gigabytes.
type reader struct {
	in     *json.Decoder
	list   *List
	wanted map[string]*wanted
	prices map[string]Price
	bad    map[string]string // keys that cannot be priced, and why
	begun  bool              // products have been read
}

// Read reads a price list.
func Read(in io.Reader) (*List, error) {
	r := &reader{in: json.NewDecoder(in), list: &List{}, wanted: map[string]*wanted{}, prices: map[string]Price{},
		bad: map[string]string{}}
	if err := r.whole(); err != nil {
		return nil, err
	}
	if !r.begun {
		return nil, errNoList
	}
	if len(rules()[r.list.Offer]) == 0 {
		return nil, fmt.Errorf("there is no table for what is in the offer %q: known are %s", r.list.Offer,
			strings.Join(Offers(), ", "))
	}
	for _, rule := range rules()[r.list.Offer] {
		if rule.constant() {
			for _, price := range rule.prices(nil, new(big.Rat)) {
				r.add(price)
			}
		}
	}
	regions := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(r.prices)) {
		price := r.prices[key]
		if why := r.bad[key]; why != "" {
			r.list.Left = append(r.list.Left, key+": "+why)
			continue
		}
		if price.Region != nil {
			regions[*price.Region] = true
		}
		r.list.Prices = append(r.list.Prices, price)
	}
	r.list.Regions = slices.Sorted(maps.Keys(regions))
	return r.list, nil
}

// whole reads the list's outermost object.
func (r *reader) whole() error {
	if token, err := r.in.Token(); err != nil || token != json.Delim('{') {
		return errors.Join(errNoList, ignoreEnd(err))
	}
	return r.object(func(name string) error {
		switch name {
		case "offerCode":
			return r.in.Decode(&r.list.Offer)
		case "publicationDate":
			return r.in.Decode(&r.list.Published)
		case "products":
			return r.products()
		case "terms":
			if !r.begun {
				return errors.New("the list's terms stand before its products: an offer file has them after those")
			}
			return r.into('{', func() error {
				return r.object(func(kind string) error {
					if kind != "OnDemand" {
						return r.skip()
					}
					return r.into('{', func() error { return r.object(r.terms) })
				})
			})
		case "PriceList":
			return r.answers()
		default:
			return r.skip()
		}
	})
}

// object hands each name of an object that has begun to read, which has to read its value.
func (r *reader) object(read func(name string) error) error {
	for r.in.More() {
		token, err := r.in.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errNoList
		}
		if err := read(name); err != nil {
			return err
		}
	}
	_, err := r.in.Token()
	return err
}

// into begins an object or an array.
func (r *reader) into(delim json.Delim, read func() error) error {
	token, err := r.in.Token()
	if err != nil {
		return err
	}
	if token != delim {
		return errNoList
	}
	return read()
}

// skip reads a value and keeps nothing of it, however large it is.
func (r *reader) skip() error {
	depth := 0
	for {
		token, err := r.in.Token()
		if err != nil {
			return err
		}
		if delim, ok := token.(json.Delim); ok {
			if delim == '{' || delim == '[' {
				depth++
			} else {
				depth--
			}
		}
		if depth == 0 {
			return nil
		}
	}
}

// products reads the products of an offer file.
func (r *reader) products() error {
	r.begun = true
	return r.into('{', func() error {
		return r.object(func(sku string) error {
			p := &product{}
			if err := r.in.Decode(p); err != nil {
				return err
			}
			r.want(sku, p)
			return nil
		})
	})
}

// want keeps a product if there are rules for it.
func (r *reader) want(sku string, p *product) {
	r.list.Products++
	for _, rule := range rules()[r.list.Offer] {
		if rule.is(p) {
			if r.wanted[sku] == nil {
				r.wanted[sku] = &wanted{product: p}
			}
			r.wanted[sku].rules = append(r.wanted[sku].rules, rule)
		}
	}
}

// terms reads how a product is sold on demand.
func (r *reader) terms(sku string) error {
	w := r.wanted[sku]
	if w == nil {
		return r.skip()
	}
	var terms map[string]term
	if err := r.in.Decode(&terms); err != nil {
		return err
	}
	return r.sold(w, terms)
}

// answers reads the products of an answer of GetProducts: each is a string that holds an object.
func (r *reader) answers() error {
	r.begun = true
	return r.into('[', func() error {
		for r.in.More() {
			var text string
			if err := r.in.Decode(&text); err != nil {
				return err
			}
			var a struct {
				Product   *product                   `json:"product"`
				Service   string                     `json:"serviceCode"`
				Published string                     `json:"publicationDate"`
				Terms     map[string]map[string]term `json:"terms"`
			}
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				return fmt.Errorf("product %d of the list: %w", r.list.Products+1, err)
			}
			if a.Product == nil || r.list.Offer != "" && a.Service != r.list.Offer {
				return fmt.Errorf("product %d of the list is of %q, and not of %q as those before", r.list.Products+1,
					a.Service, r.list.Offer)
			}
			r.list.Offer, r.list.Published = a.Service, a.Published
			r.want(a.Product.SKU, a.Product)
			if w := r.wanted[a.Product.SKU]; w != nil {
				if err := r.sold(w, a.Terms["OnDemand"]); err != nil {
					return err
				}
			}
		}
		_, err := r.in.Token()
		return err
	})
}

// sold takes the prices of a product.
func (r *reader) sold(w *wanted, terms map[string]term) error {
	for _, term := range terms {
		for _, dimension := range term.Dimensions {
			for currency, text := range dimension.Price {
				if r.list.Currency != "" && r.list.Currency != currency {
					return fmt.Errorf("the list has prices in %s and in %s", r.list.Currency, currency)
				}
				r.list.Currency = currency
				if !amount.MatchString(text) {
					return fmt.Errorf("product %s of the list costs %.40q", w.product.SKU, text)
				}
				unit, _ := new(big.Rat).SetString(text)
				for _, rule := range w.rules {
					why := ""
					if len(term.Dimensions) > 1 {
						why = "the price depends on how much the account has of it"
					} else if !slices.Contains(rule.units, strings.ToLower(dimension.Unit)) {
						why = "it is sold by " + dimension.Unit
					}
					for _, price := range rule.prices(w.product, unit) {
						if why != "" {
							r.bad[price.key()] = why
						}
						r.add(price)
					}
				}
			}
		}
	}
	return nil
}

// add notes a price. What is said twice has to be said alike.
func (r *reader) add(price Price) {
	key := price.key()
	if had, ok := r.prices[key]; ok && had.Monthly != price.Monthly && r.bad[key] == "" {
		r.bad[key] = fmt.Sprintf("the list has several prices for it: %s and %s", had.Monthly, price.Monthly)
	}
	r.prices[key] = price
}

// ignoreEnd is nil for the end of what is read.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
