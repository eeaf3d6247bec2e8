package focus

import (
	"strings"
	"testing"
)

const header = "BilledCost,EffectiveCost,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ResourceId\n"

func row(cost, month, until, resource string) string {
	next := map[string]string{"09": "10", "10": "11", "11": "12"}[month]
	return "9," + cost + ",USD,2026-" + month + "-01T00:00:00Z,2026-" + next + "-01T00:00:00Z,2026-" + month + "-01T00:00:00Z," + until + ",Usage," + resource + "\n"
}

// The last billing period counts, of several files together.
func TestBill(t *testing.T) {
	var b Bill
	for _, file := range []string{
		header + row("1.5", "10", "2026-10-02T00:00:00Z", "i-1") + row("7", "09", "2026-09-30T00:00:00Z", "i-1") + row("0.25", "10", "2026-10-03T00:00:00Z", "i-1"),
		"\ufeff" + header + row("-1e-1", "10", "2026-10-02T00:00:00Z", "arn:aws:sqs:us-east-1:123456789012:jobs") + row("3", "10", "2026-10-02 00:00:00", ""),
	} {
		if err := b.Read(strings.NewReader(file)); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Resources["i-1"].FloatString(2) + " " + b.Resources["arn:aws:sqs:us-east-1:123456789012:jobs"].FloatString(2) + " " + b.Nobodys.FloatString(2); got != "1.75 -0.10 3.00" {
		t.Error(got)
	}
	if b.Earlier != 1 || !b.Until.Before(b.End) || b.Currency != "USD" {
		t.Errorf("%+v", b)
	}
	if err := b.Read(strings.NewReader(header + row("2", "11", "2026-12-01T00:00:00Z", "i-2"))); err != nil {
		t.Fatal(err)
	}
	if b.Earlier != 5 || len(b.Resources) != 1 || b.Until.Before(b.End) || b.Nobodys.Sign() != 0 {
		t.Errorf("%+v", b)
	}
}

func TestNoBill(t *testing.T) {
	for text, want := range map[string]string{
		"":               "no bill",
		"a,b\n1,2\n":     "no column EffectiveCost",
		header + "1,2\n": "wrong number of fields",
		header + row("much", "10", "2026-10-02T00:00:00Z", "a"):  `line 2: EffectiveCost is "much"`,
		header + row("1/3", "10", "2026-10-02T00:00:00Z", "a"):   "no number",
		header + row("1e999", "10", "2026-10-02T00:00:00Z", "a"): "no number",
		header + row("1", "10", "yesterday", "a"):                `ChargePeriodEnd is "yesterday"`,
		header + row("1", "10", "2026-10-02T00:00:00Z", "a") + strings.Replace(row("1", "10", "2026-10-02T00:00:00Z", "a"), "USD", "EUR", 1): `in "EUR"`,
	} {
		var b Bill
		if err := b.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(header + row("1.5", "10", "2026-10-02T00:00:00Z", "i-1"))
	f.Fuzz(func(t *testing.T, text string) {
		var b Bill
		_ = b.Read(strings.NewReader(text))
	})
}
