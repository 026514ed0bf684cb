package access

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
)

// clip makes a name that clients choose safe for tables and logs: a model of a wildcard route, an end user or a tag.
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

// column is a column of a CSV table. Its name is that of the JSON field.
type column[T any] struct {
	name string
	of   func(*T) string
}

func count[T any](of func(*T) int64) func(*T) string {
	return func(v *T) string { return strconv.FormatInt(of(v), 10) }
}

// spendColumns are the columns of sums, after those of the groupings.
var spendColumns = []column[Spend]{
	{"requests", count(func(s *Spend) int64 { return s.Requests })},
	{"failed", count(func(s *Spend) int64 { return s.Failed })},
	{"cached", count(func(s *Spend) int64 { return s.Cached })},
	{"refused", count(func(s *Spend) int64 { return s.Refused })},
	{"input", count(func(s *Spend) int64 { return s.Input })},
	{"output", count(func(s *Spend) int64 { return s.Output })},
	{"usd", func(s *Spend) string { return Money.amount(int64(s.Money)) }},
	{"unpriced", count(func(s *Spend) int64 { return s.Unpriced })},
	{"estimated", count(func(s *Spend) int64 { return s.Estimated })},
}

// logColumns are the columns of the log.
var logColumns = []column[LogLine]{
	{"at", func(e *LogLine) string { return e.At.UTC().Format(time.RFC3339) }},
	{"id", func(e *LogLine) string { return e.ID }},
	{"team", func(e *LogLine) string { return e.Team }},
	{"key", func(e *LogLine) string { return e.Key }},
	{"route", func(e *LogLine) string { return e.Route }},
	{"model", func(e *LogLine) string { return e.Model }},
	{"upstream", func(e *LogLine) string { return e.Upstream }},
	{"format", func(e *LogLine) string { return e.Format }},
	{"status", func(e *LogLine) string { return e.Status }},
	{"cached", func(e *LogLine) string { return strconv.FormatBool(e.Cached) }},
	{"input", count(func(e *LogLine) int64 { return e.Input })},
	{"output", count(func(e *LogLine) int64 { return e.Output })},
	{"usd", func(e *LogLine) string { return Money.amount(int64(e.Money)) }},
	{"unpriced", func(e *LogLine) string { return strconv.FormatBool(e.Unpriced) }},
	{"estimated", func(e *LogLine) string { return strconv.FormatBool(e.Estimated) }},
	{"seconds", func(e *LogLine) string { return strconv.FormatFloat(e.Took.Seconds(), 'f', 3, 64) }},
	{"user", func(e *LogLine) string { return e.User }},
	{"tag", func(e *LogLine) string { return e.Tag }},
	{"attempts", func(e *LogLine) string { return e.AttemptsText() }},
}

// WriteCSV writes usage as a CSV table with a header line. Amounts are in dollars.
func WriteCSV(w io.Writer, list []Spend, by ...Grouping) error {
	var columns []column[Spend]
	for _, g := range by {
		columns = append(columns, column[Spend]{string(g), func(s *Spend) string { return s.Of(g) }})
	}
	return writeTable(w, list, append(columns, spendColumns...))
}

// WriteLog writes log lines as a CSV table with a header line.
func WriteLog(w io.Writer, list []LogLine) error { return writeTable(w, list, logColumns) }

func writeTable[T any](w io.Writer, list []T, columns []column[T]) error {
	out := csv.NewWriter(w)
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	_ = out.Write(row) // out.Error returns the error
	for i := range list {
		for k, c := range columns {
			row[k] = cell(c.of(&list[i]))
		}
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// cell escapes a text that a spreadsheet could take for a formula.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// Of returns the value of a grouping.
func (u *Spend) Of(g Grouping) string {
	return *u.at(g)
}

// at returns the field of a grouping.
func (u *Spend) at(g Grouping) *string {
	switch g {
	case ByTeam:
		return &u.Team
	case ByKey:
		return &u.Key
	case ByRoute:
		return &u.Route
	case ByModel:
		return &u.Model
	case ByUpstream:
		return &u.Upstream
	case ByUser:
		return &u.User
	case ByTag:
		return &u.Tag
	case ByDay:
		return &u.Day
	}
	return new(string)
}

// column returns the name of the column in the tables of SQL, where user is a reserved word.
func (g Grouping) column() string {
	if g == ByUser {
		return "end_user"
	}
	return string(g)
}

// AttemptsText lists the attempts of a request on one line, "" if the first upstream answered.
func (e *LogLine) AttemptsText() string {
	var list []string
	for _, a := range e.Attempts {
		text := a.Upstream + " " + a.Kind
		if a.Status != 0 {
			text += " " + strconv.Itoa(a.Status)
		}
		list = append(list, text+" "+strconv.FormatFloat(a.Seconds, 'f', 1, 64)+"s")
	}
	return strings.Join(list, ", ")
}

// dollars formats an amount as a JSON number.
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
