package access

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/catalog"
)

// Unit is the unit of a limit.
type Unit string

// The units.
const (
	Requests Unit = "requests"
	Tokens   Unit = "tokens" // of input and output
	Money    Unit = "money"  // in the unit of catalog.Money
)

// Period is the period of a limit. Periods begin with the minute, the day and the month in UTC.
type Period string

// The periods.
const (
	Minute Period = "minute"
	Day    Period = "day"
	Month  Period = "month"
	Total  Period = "total"
)

// periods are all periods, in the order in which they are counted.
var periods = []Period{Day, Minute, Month, Total}

// Quota limits what a key or a team may use within a period. Its text form is like "money/month=50",
// "tokens/day=1000000" or "requests/minute=60".
type Quota struct {
	Unit Unit
	Per  Period
	Most int64
}

// ParseQuota parses the text form of a limit.
func ParseQuota(s string) (Quota, error) {
	name, value, ok := strings.Cut(s, "=")
	unit, per, two := strings.Cut(name, "/")
	l := Quota{Unit: Unit(unit), Per: Period(per)}
	if !ok || !two || !l.known() {
		return Quota{}, fmt.Errorf("%.60q is not a limit like money/month=50, tokens/day=1000000 or requests/minute=60; periods are minute, day, month and total", s)
	}
	var err error
	if l.Unit == Money {
		var m catalog.Money
		m, err = catalog.ParseMoney(value)
		l.Most = int64(m)
	} else {
		l.Most, err = strconv.ParseInt(value, 10, 64)
	}
	if err != nil || l.Most < 0 {
		return Quota{}, fmt.Errorf("%.60q is not a limit: %.40q is not an amount", s, value)
	}
	return l, nil
}

// readable reports whether the text form of the limit parses to the same limit.
func (l Quota) readable() bool {
	again, err := ParseQuota(l.String())
	return err == nil && again == l
}

func (l Quota) known() bool {
	switch l.Per {
	case Minute, Day, Month, Total:
	default:
		return false
	}
	return l.Unit == Requests || l.Unit == Tokens || l.Unit == Money
}

// String returns the text form that ParseQuota reads.
func (l Quota) String() string { return fmt.Sprintf("%s/%s=%s", l.Unit, l.Per, l.Unit.amount(l.Most)) }

// amount formats an amount without the name of the unit.
func (u Unit) amount(n int64) string {
	if u == Money {
		return strings.TrimPrefix(catalog.Money(n).String(), "$")
	}
	return strconv.FormatInt(n, 10)
}

// said formats an amount with its unit, for people.
func (u Unit) said(n int64) string {
	if u == Money {
		return "$" + u.amount(n)
	}
	return u.amount(n) + " " + string(u)
}

// MarshalText returns the text form that ParseQuota reads.
func (l Quota) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText parses the text form of a limit.
func (l *Quota) UnmarshalText(b []byte) (err error) {
	*l, err = ParseQuota(string(b))
	return err
}

func checkLimits(list []Quota) error {
	if len(list) > maxLimits {
		return fmt.Errorf("there may be %d limits, not %d", maxLimits, len(list))
	}
	seen := map[Quota]bool{}
	for _, l := range list {
		key := Quota{Unit: l.Unit, Per: l.Per}
		switch {
		case !l.readable():
			return fmt.Errorf("%s is not a limit", l)
		case seen[key]:
			return fmt.Errorf("there are two limits of %s/%s", l.Unit, l.Per)
		}
		seen[key] = true
	}
	return nil
}

// begin returns the beginning of the period that contains t.
func (p Period) begin(t time.Time) time.Time {
	t = t.UTC()
	switch p {
	case Minute:
		return t.Truncate(time.Minute)
	case Day:
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	case Month:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Unix(0, 0).UTC()
}

// end returns the end of the period that contains t, or zero if it never ends.
func (p Period) end(t time.Time) time.Time {
	b := p.begin(t)
	switch p {
	case Minute:
		return b.Add(time.Minute)
	case Day:
		return b.AddDate(0, 0, 1)
	case Month:
		return b.AddDate(0, 1, 0)
	}
	return time.Time{}
}

// longest limits durations in times and rotations.
const longest = 100 * 365 * 24 * time.Hour

// ParseTime parses a time in one of three forms: RFC 3339, like 2027-01-31T12:00:00Z; a day, like 2027-01-31, which
// begins in UTC; or a duration from now, like 720h or 30d. With back, a duration is subtracted from now.
func ParseTime(s string, now time.Time, back bool) (time.Time, error) {
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC(), nil
		}
	}
	d, err := ParseDuration(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%.60q is neither a time like 2027-01-31T12:00:00Z, nor a day like 2027-01-31, nor a duration like 720h or 30d", s)
	}
	if back {
		d = -d
	}
	return now.Add(d).UTC().Truncate(time.Second), nil
}

// PartOfDay reports whether a time for ParseTime is within a day or less than a day ago. Daily sums cannot answer for
// such a time.
func PartOfDay(s string) bool {
	d, err := ParseDuration(s)
	at, notTime := time.Parse(time.RFC3339, s)
	return err == nil && d < 24*time.Hour || notTime == nil && !at.Equal(at.Truncate(24*time.Hour))
}

// ParseDuration parses a duration like 90s, 720h or 30d.
func ParseDuration(s string) (time.Duration, error) {
	text, unit := s, time.Duration(1)
	if n, ok := strings.CutSuffix(s, "d"); ok && strings.Trim(n, "0123456789.") == "" {
		text, unit = n+"h", 24
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longest/unit {
		return 0, fmt.Errorf("%.60q is not a duration like 24h or 30d", s)
	}
	return d * unit, nil
}

// Count is an amount of usage.
type Count struct{ Requests, Tokens, Money int64 }

func (c Count) of(u Unit) int64 {
	switch u {
	case Requests:
		return c.Requests
	case Tokens:
		return c.Tokens
	}
	return c.Money
}

// plus adds two counts. A sum that overflows becomes the largest number.
func (c Count) plus(d Count) Count {
	return Count{add(c.Requests, d.Requests), add(c.Tokens, d.Tokens), add(c.Money, d.Money)}
}

func add(a, b int64) int64 {
	if sum := a + b; sum >= a || b < 0 {
		return sum
	}
	return 1<<63 - 1
}

// Window is the usage of one key or team in one period.
type Window struct {
	Scope string // "key:ID" or "team:NAME"
	Per   Period
	Begin int64 // seconds since 1970
}

// scopes returns the scopes of a key, in the order in which all stores lock them. With different orders, two gateways
// could deadlock.
func scopes(k *Key) []string { return []string{"key:" + k.ID, "team:" + k.Team} }

// windows returns the windows that count a request at a time.
func windows(k *Key, at time.Time) []Window {
	var list []Window
	for _, scope := range scopes(k) {
		for _, p := range periods {
			list = append(list, Window{scope, p, p.begin(at).Unix()})
		}
	}
	return list
}
