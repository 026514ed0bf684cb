package gateway

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// meter is a family of counters, gauges or histograms in the text format of Prometheus. The
// number of its series is bounded whatever the values of its labels are.
type meter struct {
	name, help string
	labels     []string
	buckets    []float64 // upper bounds; nil if it is a counter

	mu     sync.Mutex
	series map[marks]*series
}

// marks are the values of the labels of a series.
type marks [4]string

// series is the value of a counter, or the counts of a histogram.
type series struct {
	value float64 // of a histogram: the sum
	count uint64
	under []uint64 // by bucket, not added up
}

// maxSeries bounds the series of a meter. What comes after them is counted under the value
// "other" of every label.
const maxSeries = 2000

// other stands for values of labels that are one too many.
const other = "other"

// at returns a series; it wants m.mu.
func (m *meter) at(of marks) *series {
	if s := m.series[of]; s != nil {
		return s
	}
	if m.series == nil {
		m.series = make(map[marks]*series)
	}
	if len(m.series) >= maxSeries {
		for i := range m.labels {
			of[i] = other
		}
		if s := m.series[of]; s != nil {
			return s
		}
	}
	s := &series{under: make([]uint64, len(m.buckets))}
	m.series[of] = s
	return s
}

// add counts n more.
func (m *meter) add(n float64, of ...string) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at(marksOf(of)).value += n
}

// observe counts a value of a histogram.
func (m *meter) observe(v float64, of ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.at(marksOf(of))
	s.value += v
	s.count++
	if i, _ := slices.BinarySearch(m.buckets, v); i < len(s.under) {
		s.under[i]++
	}
}

func marksOf(values []string) (of marks) {
	copy(of[:], values)
	return of
}

// write writes the family. One without series is left out.
func (m *meter) write(w *bufio.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.series) == 0 {
		return
	}
	kind := "counter"
	if m.buckets != nil {
		kind = "histogram"
	}
	head(w, m.name, m.help, kind)
	for _, of := range slices.SortedFunc(maps.Keys(m.series), func(a, b marks) int { return slices.Compare(a[:], b[:]) }) {
		s := m.series[of]
		if m.buckets == nil {
			sample(w, m.name, m.labels, of[:], "", s.value)
			continue
		}
		sum := uint64(0)
		for i, bound := range m.buckets {
			sum += s.under[i]
			sample(w, m.name+"_bucket", m.labels, of[:], number(bound), float64(sum))
		}
		sample(w, m.name+"_bucket", m.labels, of[:], "+Inf", float64(s.count))
		sample(w, m.name+"_sum", m.labels, of[:], "", s.value)
		sample(w, m.name+"_count", m.labels, of[:], "", float64(s.count))
	}
}

// head writes what a family is.
func head(w io.Writer, name, help, kind string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes one line. The bound of a bucket is a label of its own.
func sample(w *bufio.Writer, name string, labels, values []string, bound string, v float64) {
	w.WriteString(name)
	sep := "{"
	for i, label := range labels {
		fmt.Fprintf(w, `%s%s="%s"`, sep, label, escapeLabel(values[i]))
		sep = ","
	}
	if bound != "" {
		fmt.Fprintf(w, `%sle="%s"`, sep, bound)
		sep = ","
	}
	if sep == "," {
		w.WriteByte('}')
	}
	w.WriteString(" " + number(v) + "\n")
}

// maxLabel bounds the value of a label.
const maxLabel = 200

// escapeLabel returns a value of a label as it may stand in the text format.
func escapeLabel(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > maxLabel {
		s = strings.ToValidUTF8(s[:maxLabel], "")
	}
	return labelEscapes.Replace(s)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// seconds are the buckets of times that models take, small those of our own.
var (
	seconds = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	small   = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
)

// meters are what a gateway counts. Those that replace it go on counting.
type meters struct {
	requests, tokens, calls, repairs, unpromoted, invalid, failures, refused, warnings, cached, passed, reloads, served, estimated, state meter
	total, first, added                                                                                                                   meter
}

func newMeters() *meters {
	m := new(meters)
	for _, row := range []struct {
		of         *meter
		name, help string
		buckets    []float64
		labels     []string
	}{
		{&m.requests, "toolpost_requests_total", "Requests that were answered, by the status of the answer.", nil, []string{"route", "upstream", "format", "status"}},
		{&m.total, "toolpost_request_seconds", "How long questions to models took from the first byte of the request to the last of the answer.", seconds, []string{"route", "format"}},
		{&m.first, "toolpost_first_byte_seconds", "How long it took from the request to the first byte of the answer.", seconds, []string{"route", "format"}},
		{&m.added, "toolpost_added_seconds", "What the gateway added before the first byte: from the last byte of the request until the upstream was asked, and from the first event of its answer until that was sent.", small, []string{"route", "format"}},
		{&m.tokens, "toolpost_tokens_total", "Tokens, as upstreams counted them; with keys, what is booked, also if it was estimated. Without keys, what an upstream does not say is not counted.", nil, []string{"route", "upstream", "kind"}},
		{&m.calls, "toolpost_calls_total", "Tool calls of models, by the dialect that they were written in; native ones came as calls.", nil, []string{"route", "dialect"}},
		{&m.repairs, "toolpost_repairs_total", "Repairs of tool calls, by class.", nil, []string{"route", "class"}},
		{&m.unpromoted, "toolpost_unpromoted_calls_total", "Text that looks like a call and was left as text.", nil, []string{"route", "code"}},
		{&m.invalid, "toolpost_invalid_calls_total", "Calls that cannot be run, or do not fit the schema of their tool.", nil, []string{"route", "reason"}},
		{&m.warnings, "toolpost_warnings_total", "Warnings, by code.", nil, []string{"route", "code"}},
		{&m.failures, "toolpost_upstream_failures_total", "Upstreams that did not answer, by the kind of failure.", nil, []string{"route", "upstream", "kind"}},
		{&m.refused, "toolpost_refused_total", "Requests that were refused without asking anybody, by reason.", nil, []string{"reason"}},
		{&m.cached, "toolpost_cache_total", "Requests to routes with a cache, by what became of them.", nil, []string{"route", "result"}},
		{&m.passed, "toolpost_passed_total", "Requests that were passed on to endpoints that are no questions to models.", nil, []string{"route", "endpoint", "status"}},
		{&m.served, "toolpost_served_calls_total", "Calls of tools that the gateway runs itself, by how they ended; waiting are those that began to wait for a person.", nil, []string{"route", "status"}},
		{&m.estimated, "toolpost_estimated_total", "Answers whose tokens were estimated for the limits of keys, because the upstream did not say them (absent, partly), said what cannot be (odd), or the answer has no end (lost).", nil, []string{"route", "reason"}},
		{&m.state, "toolpost_state_failures_total", "What could not be kept or found of what is remembered between requests.", nil, []string{"kind", "op"}},
		{&m.reloads, "toolpost_config_reloads_total", "Configurations that were read while serving.", nil, []string{"result"}},
	} {
		row.of.name, row.of.help, row.of.buckets, row.of.labels = row.name, row.help, row.buckets, row.labels
	}
	return m
}

// all are the families in the order in which they are written.
func (m *meters) all() []*meter {
	return []*meter{&m.requests, &m.total, &m.first, &m.added, &m.tokens, &m.calls, &m.repairs, &m.unpromoted, &m.invalid, &m.warnings,
		&m.failures, &m.refused, &m.cached, &m.passed, &m.served, &m.estimated, &m.state, &m.reloads}
}

// gauge is a value as it is now. One whose name ends in _total is a counter that somebody else counts.
type gauge struct {
	name, help string
	labels     []string
	values     map[marks]float64
}

func (g gauge) write(w *bufio.Writer) {
	kind := "gauge"
	if strings.HasSuffix(g.name, "_total") {
		kind = "counter"
	}
	head(w, g.name, g.help, kind)
	for _, of := range slices.SortedFunc(maps.Keys(g.values), func(a, b marks) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		sample(w, g.name, g.labels, of[:], "", g.values[of])
	}
}
