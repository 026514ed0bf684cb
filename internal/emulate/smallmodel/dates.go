package smallmodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/rank"
)

// moment is a day that a text mentions. Year is 0 if it is not known.
type moment struct {
	year, month, day int
	at               int // where in the text
}

const monthNames = `jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?`

// dayForms are the ways to write a day; the names of their groups are the parts.
var dayForms = []lazy{
	pattern(`(?:^|[^\d.])(?P<y>(?:19|20)\d\d)[-./](?P<m>\d{1,2})[-./](?P<d>\d{1,2})`),
	pattern(`(?:^|\D)(?P<y>(?:19|20)\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?:\D|$)`),
	pattern(`(?:^|[^\d./-])(?P<m>\d{1,2})[-./](?P<d>\d{1,2})[-./](?P<y>(?:19|20)\d\d)`),
	pattern(`(?i)\b(?P<name>` + monthNames + `)\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?\b(?:,? (?:of |in )?(?P<y>(?:19|20)\d\d)\b)?`),
	pattern(`(?i)\b(?P<d>\d{1,2})(?:st|nd|rd|th)? (?:of )?(?P<name>` + monthNames + `)\b(?:,? (?:of |in )?(?P<y>(?:19|20)\d\d)\b)?`),
	pattern(`(?P<y>(?:19|20)\d\d)年(?P<m>\d{1,2})月(?P<d>\d{1,2})日`),
}

// maxMoments bounds how many days and times are taken from a text.
const maxMoments = 16

// daysIn returns the days that a text mentions, in order. A missing year is taken from
// elsewhere in the text. Words like "tomorrow" and "next Friday" count if the text has
// the date of today.
func daysIn(text string) []moment {
	var out []moment
	year := 0
	for _, form := range dayForms {
		for _, m := range form().FindAllStringSubmatchIndex(text, maxMoments) {
			d := momentOf(form(), text, m)
			if d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 || slices.ContainsFunc(out, func(o moment) bool { return o.at == d.at }) {
				continue
			}
			out = append(out, d)
			year = max(year, d.year)
		}
	}
	for _, n := range wording.Numbers(text) {
		if isYear(n) && year == 0 {
			year, _ = strconv.Atoi(n.Text)
		}
	}
	for i := range out {
		if out[i].year == 0 {
			out[i].year = year
		}
	}
	slices.SortFunc(out, func(a, b moment) int { return a.at - b.at })
	out = relative(strings.ToLower(text), out)
	return out[:min(len(out), maxMoments)]
}

func momentOf(form *regexp.Regexp, text string, m []int) moment {
	var d moment
	for i, name := range form.SubexpNames() {
		if name == "" || m[2*i] < 0 {
			continue
		}
		part := text[m[2*i]:m[2*i+1]]
		n, _ := strconv.Atoi(part)
		switch name {
		case "y":
			d.year = n
		case "m":
			d.month = n
		case "d":
			d.day, d.at = n, m[2*i]
		case "name":
			d.month = 1 + strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(part[:3]))/3
		}
	}
	if d.month > 12 && d.day <= 12 { // 25/04/2023
		d.month, d.day = d.day, d.month
	}
	return d
}

var (
	todayIs     = pattern(`(?:today|now|current date|currently|it)(?:'s| is| it's)? `)
	relativeDay = pattern(`\b(?:day after tomorrow|tomorrow|(?:(next|this|upcoming|coming|on) )?(monday|tuesday|wednesday|thursday|friday|saturday|sunday)( next week)?)\b`)
)

// relative adds the days that are given by their distance from today, if the text has
// the date of today. It removes today itself if there are others.
func relative(lower string, days []moment) []moment {
	today := slices.IndexFunc(days, func(d moment) bool { return isToday(lower, d.at) })
	if today < 0 || days[today].year == 0 {
		return days
	}
	at := days[today].at
	base := time.Date(days[today].year, time.Month(days[today].month), days[today].day, 0, 0, 0, 0, time.UTC)
	var out []moment
	for _, m := range relativeDay().FindAllStringSubmatchIndex(lower, maxMoments) {
		named := m[4] >= 0 // by the day of the week
		if named && (m[1] <= at && at-m[1] <= len(", september ") || m[0] > at && strings.TrimSpace(lower[m[1]:]) == "") {
			continue // today's: "today is Monday, April 25th"
		}
		ahead := 1
		if named {
			ahead = daysAhead(base, lower[m[4]:m[5]], m[6] >= 0)
		} else if lower[m[0]] == 'd' { // the day after tomorrow
			ahead = 2
		}
		day := base.AddDate(0, 0, ahead)
		out = append(out, moment{day.Year(), int(day.Month()), day.Day(), m[0]})
	}
	if len(days) > 1 || len(out) > 0 {
		days = slices.Delete(days, today, today+1)
	}
	days = append(days, out...)
	slices.SortFunc(days, func(a, b moment) int { return a.at - b.at })
	return days
}

// isToday reports whether the text before a day means today.
func isToday(lower string, at int) bool {
	before := todayIs().FindAllStringIndex(lower[:min(at, len(lower))], -1)
	if len(before) == 0 {
		return false
	}
	between := lower[before[len(before)-1][1]:min(at, len(lower))]
	return len(between) <= len("wednesday september ") && !strings.ContainsAny(between, "?!")
}

// daysAhead returns how many days after base a day of the week is next, or in the
// week after.
func daysAhead(base time.Time, name string, nextWeek bool) int {
	ahead := (weekday(name)-int(base.Weekday())+6)%7 + 1
	if nextWeek && (int(base.Weekday())+6)%7+ahead < 7 { // still in this week
		ahead += 7
	}
	return ahead
}

func weekday(name string) int {
	return slices.Index([]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}, name)
}

var clockForm = pattern(`(?i)(?:^|[^\d:.])(\d{1,2})(?::(\d{2}))?(?::\d{2})?(?: ?(a\.?m|p\.?m)\b| in the (morning|afternoon|evening)| (?:o'clock)|\b)`)

// clocksIn returns the times of day that a text speaks of, as 15:04.
func clocksIn(text string) []string {
	var out []string
	add := func(hour, minute int) {
		if at := fmt.Sprintf("%02d:%02d", hour, minute); hour < 24 && minute < 60 && !slices.Contains(out, at) && len(out) < maxMoments {
			out = append(out, at)
		}
	}
	for _, m := range clockForm().FindAllStringSubmatch(text, 4*maxMoments) {
		hour, _ := strconv.Atoi(m[1])
		minute, _ := strconv.Atoi(m[2])
		half := strings.ToLower(m[3] + m[4])
		switch {
		case m[2] == "" && half == "":
			continue
		case half != "" && half[0] != 'a' && half != "morning" && hour < 12, half == "afternoon" && hour < 12:
			hour += 12
		case half != "" && hour == 12 && (half[0] == 'a' && half != "afternoon" || half == "morning"):
			hour = 0
		}
		add(hour, minute)
	}
	lower := strings.ToLower(text)
	if wording.Mentions(lower, "noon") {
		add(12, 0)
	}
	if wording.Mentions(lower, "midnight") {
		add(0, 0)
	}
	return out
}

// dayLayout finds the form of a day in a description, and the time after it.
var (
	dayLayout   = pattern(`(?i)(yyyy|mm|dd)([-/.]?)(mm|dd)([-/.]?)(yyyy|dd)([t ']+hh:mm(?::ss)?z?)?`)
	timeLayout  = pattern(`(?i)hh:mm(:ss)?|24[- ]hour`)
	timeExample = pattern(`['" ]\d\d:\d\d['")., ]`)
)

// moments returns the values that the conversation has for a parameter that takes
// a day or a time in a form that its description names, and whether it takes one.
func (e *evidence) moments(name string, s keywords) (values []string, takes bool) {
	about := js.Decode[string](s["description"])
	isDay := js.Decode[string](s["format"]) == "date" || slices.Contains(rank.Stems(name), "date")
	if m := dayLayout().FindStringSubmatch(about); m != nil && (isDay || !timeLayout().MatchString(dayLayout().ReplaceAllString(about, ""))) {
		return e.written(name, m[1:]), true
	} else if isDay {
		return e.written(name, []string{"yyyy", "-", "mm", "-", "dd", ""}), true
	}
	if timeLayout().MatchString(about) || slices.Contains(rank.Stems(name), "time") && timeExample().MatchString(about) {
		tail := ""
		if strings.Contains(strings.ToLower(about), "hh:mm:ss") {
			tail = ":00"
		}
		for _, c := range sided(name, e.clocks) {
			values = append(values, c+tail)
		}
		return values, true
	}
	return nil, false
}

// likelyYears are offered for a day without a year.
var likelyYears = []int{2023, 2024, 2025, 2026, 2027}

// written returns the days of the request in a form: three parts, what stands
// between them, and a time.
func (e *evidence) written(name string, form []string) []string {
	clocks := []string{""}
	if form[5] != "" {
		if clocks = e.clocks; len(clocks) == 0 {
			clocks = []string{"00:00"}
		}
	}
	var out []string
	for _, d := range sided(name, e.days) {
		years := []int{d.year}
		if d.year == 0 {
			years = likelyYears
		}
		for _, y := range years {
			parts := map[string]string{"yyyy": fmt.Sprintf("%04d", y), "mm": fmt.Sprintf("%02d", d.month), "dd": fmt.Sprintf("%02d", d.day)}
			text := parts[strings.ToLower(form[0])] + form[1] + parts[strings.ToLower(form[2])] + form[3] + parts[strings.ToLower(form[4])]
			for _, c := range clocks {
				if at := text + clockTail(form[5], c); !slices.Contains(out, at) {
					out = append(out, at)
				}
			}
		}
	}
	return out
}

// clockTail writes a time in the form that follows a day: "Thh:mm:ssZ".
func clockTail(form, clock string) string {
	lower := strings.ToLower(strings.Trim(form, "'"))
	if lower == "" {
		return ""
	}
	tail := " " + clock
	if lower[0] == 't' || strings.Contains(form, "'") {
		tail = "T" + clock
	}
	if strings.Contains(lower, ":ss") {
		tail += ":00"
	}
	if strings.HasSuffix(lower, "z") {
		tail += "Z"
	}
	return tail
}

// Words in the names of parameters for the beginning and the end of a stretch.
var (
	beginnings = stemSet("start begin departure depart checkin pickup onward outbound origin source")
	endings    = stemSet("end finish return checkout dropoff arrival destination inbound")
)

// is reports whether the name of a parameter has one of the words, also in two:
// check_in.
func is(name string, words map[string]bool) bool {
	return slices.ContainsFunc(append(rank.Stems(name), rank.Stems(strings.ReplaceAll(name, "_", ""))...), func(w string) bool { return words[w] }) ||
		slices.ContainsFunc([]string{"check_in", "check_out", "pick_up", "drop_off"}, func(w string) bool {
			return strings.HasPrefix(strings.ToLower(name), w) && words[strings.ReplaceAll(w, "_", "")]
		})
}

// sided returns the first of several values for a parameter that is a beginning, and
// the last for a parameter that is an end.
func sided[T any](name string, values []T) []T {
	switch {
	case len(values) > 1 && is(name, beginnings):
		return values[:1]
	case len(values) > 1 && is(name, endings):
		return values[len(values)-1:]
	}
	return values
}

// lasts are words before the end of a stretch.
var lasts = strings.Fields("until till through by before return returning end ending ends")

// open reports whether a parameter takes the end of a stretch that the request
// gives no end of: it has only one of the values.
func (e *evidence) open(name string, values int) bool {
	return values == 1 && is(name, endings) && !slices.ContainsFunc(lasts, func(w string) bool { return wording.Mentions(e.lower, w) })
}

// dated returns the schema of a parameter that takes a day or a time, if the
// conversation has a fitting value.
func (e *evidence) dated(name string, s keywords, size lengths) json.RawMessage {
	values, _ := e.moments(name, s)
	if values = size.of(values); len(values) == 0 {
		return nil
	}
	return enum(values)
}
