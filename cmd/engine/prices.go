package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"iasql/internal/aws/pricelist"
	"iasql/internal/focus"
)

// importedPrices is what import-prices prints.
type importedPrices struct {
	Lists []importedList `json:"price_lists"`
	Bill  *importedBill  `json:"bill,omitempty"`
}

// importedList is what became of a price list.
type importedList struct {
	File     string         `json:"file"`
	Source   string         `json:"source"`
	Products int            `json:"products"`
	Prices   int            `json:"prices"` // written
	Kept     int            `json:"kept"`   // somebody's own that are in the place of the list's
	NoTable  map[string]int `json:"no_table"`
	Left     []string       `json:"left"`
}

// importedBill is what became of the bills.
type importedBill struct {
	Source     string      `json:"source"`
	Resources  int         `json:"resources"`
	Records    int         `json:"records"` // written
	Kept       int         `json:"kept"`
	Unfinished bool        `json:"unfinished"` // the billing period has not ended
	Earlier    int         `json:"earlier"`
	Nobodys    string      `json:"of_no_resource"`
	Left       []leftCosts `json:"left"`
}

// leftCosts is a resource of a bill that has no record.
type leftCosts struct {
	Resource string `json:"resource"`
	Costs    string `json:"costs"`
	Why      string `json:"why"`
}

func importPricesCommand() *cobra.Command {
	var c batchCmd
	var linux bool
	cmd := &cobra.Command{
		Use: "import-prices FILE…", Short: "Read what things cost from price lists of AWS and from bills.",
		Long: "Read what things cost into iasql_prices and iasql_bills. A FILE is a price list of AWS in JSON " +
			"(an offer file, or what `aws pricing get-products` prints) or a bill in CSV (FOCUS 1.0 or later), as " +
			"it is or compressed by gzip. A list takes the place of what was imported from the same list for the " +
			"same regions; the bills take the place of all bills that were imported: give those of one period " +
			"together. What somebody has written without a source stays and counts.\n" +
			"The database is a login that may write these tables, such as a member of iasql_engine.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var lists []*pricelist.List
			var files []string // of lists
			var bill *focus.Bill
			for _, path := range args {
				list, err := readCosts(path, &bill)
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				if list != nil {
					if linux {
						list.AssumeLinux()
					}
					lists, files = append(lists, list), append(files, path)
				}
			}
			c.out = cmd.OutOrStdout()
			if err := c.connect(cmd.Context(), cmd.ErrOrStderr()); err != nil {
				return err
			}
			defer c.conn.Close(context.WithoutCancel(cmd.Context()))
			i := &importedPrices{Lists: []importedList{}}
			err := pgx.BeginFunc(cmd.Context(), c.conn, func(tx pgx.Tx) error {
				for n, list := range lists {
					done, err := writePrices(cmd.Context(), tx, list)
					if err != nil {
						return fmt.Errorf("%s: %w", files[n], err)
					}
					done.File = files[n]
					i.Lists = append(i.Lists, *done)
				}
				if bill == nil {
					return nil
				}
				var err error
				i.Bill, err = writeBill(cmd.Context(), tx, bill)
				return err
			})
			if err != nil {
				return explained(err)
			}
			return c.print(i, func() error { return i.write(c.out) })
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.declare(flags)
	flags.BoolVar(&linux, "linux", false,
		"Price instances that are not there yet as Linux on shared hosts, on demand: AWS "+
			"says as what an instance is billed once it is there.")
	flags.BoolVar(&c.JSON, "json", false, "Print JSON.")
	return cmd
}

// readCosts reads a file: it returns a price list, or adds to the bill.
func readCosts(path string, bill **focus.Bill) (*pricelist.List, error) {
	file, err := os.Open(path) // #nosec G304 -- the user's own
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewReaderSize(file, 1<<16)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" { // RFC 1952, 2.3.1
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(unpacked, 1<<16)
	}
	begin, _ := in.Peek(64)
	if strings.HasPrefix(strings.TrimLeft(string(begin), " \t\r\n\ufeff"), "{") {
		return pricelist.Read(in)
	}
	if *bill == nil {
		*bill = &focus.Bill{}
	}
	return nil, (*bill).Read(in)
}

// writePrices puts a price list in the place of what was imported from it before.
func writePrices(ctx context.Context, tx pgx.Tx, list *pricelist.List) (*importedList, error) {
	i := &importedList{Source: "price list " + list.Offer, Products: list.Products, NoTable: map[string]int{},
		Left: list.Left}
	if i.Left == nil {
		i.Left = []string{}
	}
	rows, err := tx.Query(ctx, `SELECT "table" FROM public.iasql_tables`)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	prices := []pricelist.Price{}
	for _, price := range list.Prices {
		if slices.Contains(tables, price.Table) {
			prices = append(prices, price)
		} else {
			i.NoTable[price.Table]++
		}
	}
	text, err := json.Marshal(prices)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM public.iasql_prices WHERE source = $1 AND (region IS NULL OR region = ANY ($2))`, i.Source,
		list.Regions); err != nil {
		return nil, err
	}
	currency := list.Currency
	if currency == "" {
		currency = "USD"
	}
	written, err := tx.Exec(ctx, `
		INSERT INTO public.iasql_prices (table_name, component, match, region, monthly, per, included, currency, source)
		SELECT p.table_name, p.component, p.match, p.region, p.monthly, p.per, p.included, $2, $3
		FROM jsonb_to_recordset($1) AS p (table_name text, component text, match jsonb, region text, monthly numeric, per text, included numeric)
		ON CONFLICT DO NOTHING`, text, currency, i.Source)
	if err != nil {
		return nil, err
	}
	i.Prices = int(written.RowsAffected())
	i.Kept = len(prices) - i.Prices
	return i, nil
}

// named is how a table's records are called in bills.
type named struct {
	table    string
	arn      *string // the column that has the ARN
	id       *string // the column that identifies it in its region
	assigned bool    // AWS gives the id
}

// writeBill puts a bill in the place of those that were imported before.
func writeBill(ctx context.Context, tx pgx.Tx, bill *focus.Bill) (*importedBill, error) {
	i := &importedBill{Source: "bill of " + bill.Start.UTC().Format("2006-01"), Resources: len(bill.Resources),
		Unfinished: bill.Until.Before(bill.End), Earlier: bill.Earlier, Nobodys: bill.Nobodys.FloatString(2),
		Left: []leftCosts{}}
	names := bill.Names()
	records, err := recordsOfBill(ctx, tx, names)
	if err != nil {
		return nil, err
	}
	var tables, amounts []string
	var ids []int64
	costs := map[mentioned]*big.Rat{}
	for n, name := range names {
		left := leftCosts{Resource: name, Costs: bill.Resources[name].FloatString(2), Why: "no record is called so"}
		switch found := records[n+1]; {
		case len(found) > 1:
			left.Why = fmt.Sprintf("several records are called so: %v", found)
		case len(found) == 1:
			if costs[found[0]] == nil {
				costs[found[0]] = new(big.Rat)
			}
			costs[found[0]].Add(costs[found[0]], bill.Resources[name])
			continue
		}
		i.Left = append(i.Left, left)
	}
	for record, cost := range costs {
		tables, ids, amounts = append(tables, record.table), append(ids, record.id),
			append(amounts, cost.FloatString(10))
	}
	if _, err := tx.Exec(ctx, `DELETE FROM public.iasql_bills WHERE source IS NOT NULL`); err != nil {
		return nil, err
	}
	written, err := tx.Exec(ctx, `
		INSERT INTO public.iasql_bills (table_name, record_id, monthly, currency, source)
		SELECT r.t, r.id, r.monthly::numeric, $4, $5 FROM unnest($1::text[], $2::bigint[], $3::text[]) r (t, id, monthly)
		ON CONFLICT DO NOTHING`, tables, ids, amounts, bill.Currency, i.Source)
	if err != nil {
		return nil, err
	}
	i.Records = int(written.RowsAffected())
	i.Kept = len(costs) - i.Records
	return i, nil
}

// recordsOfBill returns the records that resources are, by the number of the resource, from 1. A bill calls a
// resource by its ARN or by its id.
func recordsOfBill(ctx context.Context, tx pgx.Tx, names []string) (map[int][]mentioned, error) {
	regions, parts := make([]string, len(names)), make([]string, len(names))
	for n, name := range names {
		parts[n] = name
		if parsed, err := arn.Parse(name); err == nil {
			regions[n] = parsed.Region
			parts[n] = parsed.Resource[strings.LastIndexAny(parsed.Resource, "/:")+1:]
		}
	}
	rows, err := tx.Query(ctx, `
		SELECT m.name, (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'arn' AND NOT a.attisdropped),
		       (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = m.identity[1] AND cardinality(m.identity) = 1
		            AND a.atttypid = 'text'::regtype AND NOT a.attisdropped),
		       coalesce(m.identity[1] = ANY (m.assigned), false)
		FROM iasql_internal.managed_table m
		JOIN pg_class c ON c.relname = m.name AND c.relnamespace = 'public'::regnamespace AND has_table_privilege(c.oid, 'SELECT')
		WHERE m.name IN (SELECT "table" FROM public.iasql_tables) ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n named, err error) {
		return n, row.Scan(&n.table, &n.arn, &n.id, &n.assigned)
	})
	if err != nil {
		return nil, err
	}
	found := map[int][]mentioned{}
	for _, t := range tables {
		var by []string
		if t.arn != nil {
			by = append(by, "t.arn = k.name")
		}
		switch id := t.id; {
		case id == nil:
		case t.assigned: // unique, whatever it stands in
			by = append(by, "t."+pgx.Identifier{*id}.Sanitize()+" = k.part")
		default:
			by = append(by, "t."+pgx.Identifier{*id}.Sanitize()+" = k.name")
		}
		if len(by) == 0 {
			continue
		}
		rows, err := tx.Query(ctx, fmt.Sprintf(`
			SELECT DISTINCT k.n, t.id FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY k (name, part, region, n)
			JOIN %s t ON (%s) AND (k.region = '' OR coalesce(to_jsonb(t) ->> 'region', k.region) = k.region)`,
			pgx.Identifier{"public", t.table}.Sanitize(), strings.Join(by, " OR ")), names, parts, regions)
		if err != nil {
			return nil, err
		}
		var n int
		var id int64
		if _, err := pgx.ForEachRow(rows, []any{&n, &id}, func() error {
			found[n] = append(found[n], mentioned{t.table, id})
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// write prints it for people.
func (i *importedPrices) write(out io.Writer) error {
	var b strings.Builder
	for _, list := range i.Lists {
		fmt.Fprintf(&b, "%s: %d prices of %d products (%s)\n", printable(filepath.Base(list.File)), list.Prices,
			list.Products,
			printable(list.Source))
		if list.Kept > 0 {
			fmt.Fprintf(&b, "  %d are somebody's own, and stay\n", list.Kept)
		}
		for _, table := range slices.Sorted(maps.Keys(list.NoTable)) {
			fmt.Fprintf(&b, "  %d are of %s, which is not installed\n", list.NoTable[table], table)
		}
		for n, left := range list.Left {
			if n == 20 {
				fmt.Fprintf(&b, "  and %d more that have no price; --json lists them\n", len(list.Left)-n)
				break
			}
			fmt.Fprintf(&b, "  no price: %s\n", printable(left))
		}
	}
	if bill := i.Bill; bill != nil {
		fmt.Fprintf(&b, "%s: %d records of %d resources\n", bill.Source, bill.Records, bill.Resources)
		if bill.Unfinished {
			b.WriteString("  it is not over: its last charge ends before the billing period does\n")
		}
		if bill.Kept > 0 {
			fmt.Fprintf(&b, "  %d are somebody's own, and stay\n", bill.Kept)
		}
		if bill.Earlier > 0 {
			fmt.Fprintf(&b, "  %d charges are of earlier periods, and do not count\n", bill.Earlier)
		}
		fmt.Fprintf(&b, "  %s is of no resource\n", bill.Nobodys)
		for n, left := range bill.Left {
			if n == 20 {
				fmt.Fprintf(&b, "  and %d more without a record; --json lists them\n", len(bill.Left)-n)
				break
			}
			fmt.Fprintf(&b, "  %s (%s): %s\n", printable(left.Resource), left.Costs, left.Why)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
