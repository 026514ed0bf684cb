package access

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// clip returns what clients called a model as it may stand in a table or a log: they choose the
// name where a route is for every one.
func clip(name string) string {
	var b strings.Builder
	for _, r := range name {
		if hasControl(string(r)) {
			r = '?'
		}
		if b.WriteRune(r); b.Len() >= maxPattern {
			break
		}
	}
	return b.String()
}

// WriteCSV writes what was used as a table, with a line of names first. Amounts are in dollars.
func WriteCSV(w io.Writer, list []Spend, by ...Grouping) error {
	out := csv.NewWriter(w)
	var head []string
	for _, g := range by {
		head = append(head, string(g))
	}
	_ = out.Write(append(head, "requests", "failed", "input", "output", "usd", "unpriced", "estimated")) // Flush says what failed
	for _, s := range list {
		row := make([]string, 0, len(by)+7)
		for _, g := range by {
			row = append(row, cell(s.Of(g)))
		}
		for _, n := range []int64{s.Requests, s.Failed, s.Input, s.Output} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		row = append(row, Money.amount(int64(s.Money)), strconv.FormatInt(s.Unpriced, 10), strconv.FormatInt(s.Estimated, 10))
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// cell returns a text that no spreadsheet takes for a formula.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// Of returns what the requests have in common, by what they are told by.
func (u *Spend) Of(g Grouping) string {
	switch g {
	case ByTeam:
		return u.Team
	case ByKey:
		return u.Key
	case ByModel:
		return u.Model
	case ByDay:
		return u.Day
	}
	return ""
}

// dollars writes an amount as a number of JSON.
func dollars(n int64) json.Number { return json.Number(Money.amount(n)) }

// MarshalJSON writes the amount in dollars.
func (u Spend) MarshalJSON() ([]byte, error) {
	type plain Spend
	return json.Marshal(struct {
		plain
		USD json.Number `json:"usd"`
	}{plain(u), dollars(int64(u.Money))})
}

// MarshalJSON writes the amount in dollars and the time in seconds.
func (e LogLine) MarshalJSON() ([]byte, error) {
	type plain LogLine
	return json.Marshal(struct {
		plain
		USD     json.Number `json:"usd"`
		Seconds float64     `json:"seconds"`
	}{plain(e), dollars(int64(e.Money)), e.Took.Seconds()})
}
