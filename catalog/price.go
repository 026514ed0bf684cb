package catalog

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/llm"
)

// Money is an amount of US dollars, in millionths of a millionth: as a price of
// one token it is a millionth of a dollar per million tokens. Sums are exact.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000_000_000

// maxDollars limits the amounts that are read. Sums of them then fit.
const maxDollars = 1_000_000

// ParseMoney reads an amount of US dollars, such as "0.50" or "$2".
func ParseMoney(s string) (Money, error) { return parseAmount(strings.TrimPrefix(s, "$"), 12) }

// parseAmount reads a decimal number with at most the given digits after the point.
func parseAmount(s string, digits int) (Money, error) {
	whole, part, _ := strings.Cut(s, ".")
	trimmed := strings.TrimRight(part, "0")
	n, err := strconv.ParseUint(whole, 10, 32)
	if err != nil || n > maxDollars || len(trimmed) > digits || strings.Trim(part, "0123456789") != "" || strings.HasSuffix(s, ".") {
		return 0, fmt.Errorf("expected an amount of dollars such as 0.25, up to %d, found %.40q", maxDollars, s)
	}
	unit := int64(math.Pow10(digits))
	sum := int64(n) * unit
	if trimmed != "" {
		f, _ := strconv.ParseInt(trimmed+strings.Repeat("0", digits-len(trimmed)), 10, 64) // digits, few enough
		sum += f
	}
	return Money(sum), nil
}

// String writes the amount with at least two digits after the point: "$0.0123".
func (m Money) String() string {
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	cents := strings.TrimRight(fmt.Sprintf("%012d", n%int64(Dollar)), "0")
	for len(cents) < 2 {
		cents += "0"
	}
	return fmt.Sprintf("%s$%d.%s", sign, n/int64(Dollar), cents)
}

// Rates are prices of one token each: a Money of 3,000,000 is $3 per million
// tokens.
type Rates struct {
	// CacheWrite is that of entries for a short time where a host has several; see docs/models.md.
	Input, Output, CacheRead, CacheWrite Money
}

// Price is the price of a model at a host. The zero value is unknown, which
// differs from free: see Known.
type Price struct {
	Rates
	// Above is the number of tokens of input above which Long counts for the
	// whole request; 0 means that there is no such number.
	Above int
	Long  Rates
	// Search is the price of one web search by the host; 0 if unknown.
	Search Money
	// Date is the day the price was looked up, as 2026-07-02.
	Date string
	// Known reports whether the price is known. A known price may be zero.
	Known bool
}

// Cost returns the cost of usage, and false if the price of a part is unknown.
// Reasoning is part of the output.
func (p Price) Cost(u llm.Usage) (Money, bool) {
	if !p.Known {
		return 0, false
	}
	r := p.Rates
	if p.Above > 0 && u.Input > p.Above {
		r = p.Long
	}
	fresh := max(0, u.Input-u.CacheRead-u.CacheWrite)
	var sum Money
	for _, part := range []struct {
		n    int
		rate Money
	}{{fresh, r.Input}, {u.CacheRead, r.CacheRead}, {u.CacheWrite, r.CacheWrite}, {u.Output, r.Output}} {
		if !sum.add(part.n, part.rate) {
			return 0, false
		}
	}
	for name, n := range u.Hosted {
		if n > 0 && (name != llm.WebSearch || p.Search == 0) || !sum.add(n, p.Search) {
			return 0, false
		}
	}
	return sum, true
}

// add adds n times a rate and reports whether the sum fits.
func (m *Money) add(n int, rate Money) bool {
	if n <= 0 || rate <= 0 {
		return true
	}
	if Money(n) > (math.MaxInt64-*m)/rate {
		return false
	}
	*m += Money(n) * rate
	return true
}

// Cost returns the cost of usage with this model, and false if its price, or
// that of a part of the usage, is unknown.
func (m Model) Cost(u llm.Usage) (Money, bool) { return m.Price.Cost(u) }

// String writes the price for people: "$3.00 in, $15.00 out per million tokens".
func (p Price) String() string {
	if !p.Known {
		return ""
	}
	if p == (Price{Known: true, Date: p.Date}) {
		return "free"
	}
	s := fmt.Sprintf("%s in, %s out", perMillion(p.Input), perMillion(p.Output))
	if p.CacheRead != p.Input || p.CacheWrite != p.Input {
		s += fmt.Sprintf(", %s cache read, %s cache write", perMillion(p.CacheRead), perMillion(p.CacheWrite))
	}
	s += " per million tokens"
	if p.Date != "" {
		s += " (" + p.Date + ")"
	}
	return s
}

func perMillion(rate Money) string { return (rate * 1_000_000).String() }

// MarshalJSON writes dollars per million tokens, or null if unknown.
func (p Price) MarshalJSON() ([]byte, error) {
	if !p.Known {
		return []byte("null"), nil
	}
	type rates struct {
		Input      json.Number `json:"input"`
		Output     json.Number `json:"output"`
		CacheRead  json.Number `json:"cache_read"`
		CacheWrite json.Number `json:"cache_write"`
	}
	write := func(r Rates) rates {
		return rates{decimal(r.Input), decimal(r.Output), decimal(r.CacheRead), decimal(r.CacheWrite)}
	}
	out := struct {
		rates
		Above  int         `json:"above,omitempty"`
		Long   *rates      `json:"long,omitempty"`
		Search json.Number `json:"search,omitempty"`
		Date   string      `json:"date,omitempty"`
	}{rates: write(p.Rates), Above: p.Above, Date: p.Date}
	if p.Above > 0 {
		long := write(p.Long)
		out.Long = &long
	}
	if p.Search > 0 {
		out.Search = json.Number(strings.TrimPrefix(p.Search.String(), "$"))
	}
	return json.Marshal(out)
}

// decimal is a rate in dollars per million tokens, without trailing zeros.
func decimal(rate Money) json.Number {
	return json.Number(strconv.FormatFloat(float64(rate)/1e6, 'f', -1, 64))
}

// priceRate reads dollars per million tokens as the price of one.
func priceRate(s string) (Money, error) { return parseAmount(s, 6) }

// price reads the price of a model in the user's file. Tokens read from or
// written to a cache cost as much as other input, unless the file gives their
// prices.
func (n yamlNode) price(p *Price) error {
	p.Known = true
	long := yamlNode{}
	if err := n.rates(&p.Rates, map[string]func(yamlNode) error{
		"above":  func(n yamlNode) error { return n.int(&p.Above) },
		"long":   func(n yamlNode) error { long = n; return nil },
		"date":   func(n yamlNode) error { return n.text(&p.Date) },
		"search": func(n yamlNode) error { return n.amount(&p.Search, ParseMoney) },
	}); err != nil {
		return err
	}
	if (p.Above > 0) != (long.node != nil) {
		return n.errorf("above and long go together")
	}
	if long.node == nil {
		return nil
	}
	return long.rates(&p.Long, map[string]func(yamlNode) error{})
}

// rates reads prices, and the other keys allowed in the same map.
func (n yamlNode) rates(r *Rates, others map[string]func(yamlNode) error) error {
	var read, write *Money
	var in, out bool
	others["input"] = func(n yamlNode) error { in = true; return n.amount(&r.Input, priceRate) }
	others["output"] = func(n yamlNode) error { out = true; return n.amount(&r.Output, priceRate) }
	others["cache_read"] = func(n yamlNode) error { read = &r.CacheRead; return n.amount(read, priceRate) }
	others["cache_write"] = func(n yamlNode) error { write = &r.CacheWrite; return n.amount(write, priceRate) }
	if err := n.object(others); err != nil {
		return err
	}
	if !in || !out {
		return n.errorf("a price needs input and output, in dollars per million tokens")
	}
	if read == nil {
		r.CacheRead = r.Input
	}
	if write == nil {
		r.CacheWrite = r.Input
	}
	return nil
}

func (n yamlNode) amount(m *Money, parse func(string) (Money, error)) error {
	var s string
	if err := n.text(&s); err != nil {
		return err
	}
	var err error
	if *m, err = parse(s); err != nil {
		return n.errorf("%w", err)
	}
	return nil
}

//go:embed data/prices.txt
var pricesText string

// seller is a host with its prices.
type seller struct {
	date, except string
	free         bool
	search       Money
	models       map[string]Price
}

// priceList is the embedded list of prices.
type priceList struct {
	sellers  map[string]*seller
	families map[string]string // root of a family → host that bare ids mean
}

var prices = sync.OnceValue(func() *priceList {
	l, err := parsePrices(pricesText)
	if err != nil {
		panic("catalog: data/prices.txt: " + err.Error())
	}
	return l
})

// parsePrices reads the list, in the format described at its beginning.
func parsePrices(text string) (*priceList, error) {
	l := &priceList{sellers: map[string]*seller{}, families: map[string]string{}}
	var at *seller
	line := 0
	for row := range strings.Lines(text) {
		line++
		row, _, _ = strings.Cut(row, "#")
		words := strings.Fields(row)
		var err error
		switch {
		case len(words) == 0:
		case words[0] == "vendor" && len(words) > 1:
			at, err = l.seller(words[1], words[2:])
		case at == nil:
			err = fmt.Errorf("a price without a vendor")
		default:
			err = at.row(words)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return l, nil
}

// seller begins the prices of a host.
func (l *priceList) seller(name string, words []string) (*seller, error) {
	s := &seller{models: map[string]Price{}}
	l.sellers[name] = s
	for len(words) > 0 {
		key, value := words[0], ""
		if key == "free" {
			s.free, words = true, words[1:]
			continue
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("%s has no value", key)
		}
		value, words = words[1], words[2:]
		switch key {
		case "date":
			s.date = value
		case "except":
			s.except = value
		case "search":
			var err error
			if s.search, err = ParseMoney(value); err != nil {
				return nil, err
			}
		case "families":
			for f := range strings.SplitSeq(value, ",") {
				l.families[f] = name
			}
		default:
			return nil, fmt.Errorf("no such word: %s", key)
		}
	}
	return s, nil
}

// row reads the price of one model.
func (s *seller) row(words []string) error {
	p := Price{Known: true, Date: s.date, Search: s.search}
	if len(words) != 5 && (len(words) != 11 || words[5] != "above") {
		return fmt.Errorf("expected a model and four prices, and perhaps above, a number and four more")
	}
	err := p.Rates.fields(words[1:5])
	if err == nil && len(words) > 5 {
		if p.Above, err = strconv.Atoi(words[6]); err == nil {
			err = p.Long.fields(words[7:])
		}
	}
	if _, twice := s.models[words[0]]; twice {
		err = cmp.Or(err, fmt.Errorf("%s is there twice", words[0]))
	}
	s.models[words[0]] = p
	return err
}

// fields reads input, output, cache read and cache write.
func (r *Rates) fields(words []string) error {
	for i, to := range []*Money{&r.Input, &r.Output, &r.CacheRead, &r.CacheWrite} {
		if words[i] == "-" && i > 1 {
			*to = r.Input
			continue
		}
		var err error
		if *to, err = priceRate(words[i]); err != nil {
			return err
		}
	}
	return nil
}

// of returns the price of a model at the host that serves the id. A host with a
// separate address has separate prices.
func (l *priceList) of(id *ID) (Price, string) {
	name := foldID(id.Raw)
	host, rest, named := strings.Cut(name, "/")
	switch {
	case strings.Contains(name, "://"):
		host, rest = id.Provider, ""
	case named:
		host = strings.ReplaceAll(host, "_", "-")
		host = cmp.Or(vocabulary().providers[host], host)
	default:
		host, rest = cmp.Or(id.Provider, l.families[id.Root()]), name
	}
	s := l.sellers[host]
	if s == nil || s.except != "" && strings.Contains(name, s.except) {
		return Price{}, ""
	}
	if s.free {
		return Price{Known: true}, host
	}
	p, ok := s.models[rest]
	if !ok {
		p, ok = s.models[undated(rest)]
	}
	if !ok {
		return Price{}, ""
	}
	return p, host
}

// undated removes a date from the end of an id: -20250929 or -2025-09-29. All
// versions of a model cost the same, except the dated ones that the list names.
func undated(name string) string {
	for _, form := range []string{"-dddd-dd-dd", "-dddddddd"} {
		if i := len(name) - len(form); i > 0 && fits(name[i:], form) {
			return name[:i]
		}
	}
	return name
}

// fits compares s with a form in which d is a digit.
func fits(s, form string) bool {
	for i := range len(form) {
		if form[i] == 'd' && !isDigit(s[i]) || form[i] != 'd' && s[i] != form[i] {
			return false
		}
	}
	return true
}
