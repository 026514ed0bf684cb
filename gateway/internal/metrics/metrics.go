// Package metrics counts events of a gateway and writes the counts in the Prometheus text format.
package metrics

import (
	"bufio"
	"bytes"
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

// Metric is a counter or a histogram with labels. The number of its series is limited, regardless of the label values.
// It is safe for concurrent use.
type Metric struct {
	name, help string
	labels     []string
	buckets    []float64 // upper bounds; nil if it is a counter

	mu     sync.Mutex
	series map[Labels]*series
}

// Labels are the label values of one series, in the order of the label names.
type Labels [4]string

// series is the value of a counter, or the counts of a histogram.
type series struct {
	value float64  // the count, or the sum of a histogram
	count uint64   // observations of a histogram
	under []uint64 // observations by bucket, not cumulative
}

// maxSeries limits the series of a metric. Further label values are counted as "other".
const maxSeries = 2000

// overflowLabel replaces label values beyond maxSeries.
const overflowLabel = "other"

// seriesOf returns a series, which it creates if needed. The caller holds m.mu.
func (m *Metric) seriesOf(of Labels) *series {
	if s := m.series[of]; s != nil {
		return s
	}
	if m.series == nil {
		m.series = make(map[Labels]*series)
	}
	if len(m.series) >= maxSeries {
		for i := range m.labels {
			of[i] = overflowLabel
		}
		if s := m.series[of]; s != nil {
			return s
		}
	}
	s := &series{under: make([]uint64, len(m.buckets))}
	m.series[of] = s
	return s
}

// Add adds n to a counter.
func (m *Metric) Add(n float64, of ...string) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seriesOf(labelsOf(of)).value += n
}

// Observe adds a value to a histogram.
func (m *Metric) Observe(v float64, of ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.seriesOf(labelsOf(of))
	s.value += v
	s.count++
	if i, _ := slices.BinarySearch(m.buckets, v); i < len(s.under) {
		s.under[i]++
	}
}

func labelsOf(values []string) (of Labels) {
	copy(of[:], values)
	return of
}

// write writes all series of the metric. A metric without series is omitted.
func (m *Metric) write(w *bufio.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.series) == 0 {
		return
	}
	writeHead(w, m.name, m.help, m.kind())
	for _, of := range slices.SortedFunc(maps.Keys(m.series), func(a, b Labels) int { return slices.Compare(a[:], b[:]) }) {
		s := m.series[of]
		if m.buckets == nil {
			writeSample(w, m.name, m.labels, of[:], "", s.value)
			continue
		}
		sum := uint64(0)
		for i, bound := range m.buckets {
			sum += s.under[i]
			writeSample(w, m.name+"_bucket", m.labels, of[:], formatNumber(bound), float64(sum))
		}
		writeSample(w, m.name+"_bucket", m.labels, of[:], "+Inf", float64(s.count))
		writeSample(w, m.name+"_sum", m.labels, of[:], "", s.value)
		writeSample(w, m.name+"_count", m.labels, of[:], "", float64(s.count))
	}
}

// writeHead writes the HELP and TYPE lines.
func writeHead(w io.Writer, name, help, kind string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// writeSample writes one line. The bound of a histogram bucket becomes the label "le".
func writeSample(w *bufio.Writer, name string, labels, values []string, bound string, v float64) {
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
	w.WriteString(" " + formatNumber(v) + "\n")
}

// maxLabel limits the length of a label value.
const maxLabel = 200

// escapeLabel escapes a label value for the text format.
func escapeLabel(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > maxLabel {
		s = strings.ToValidUTF8(s[:maxLabel], "")
	}
	return labelEscapes.Replace(s)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func formatNumber(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Histogram buckets: modelSeconds for the duration of model answers, ownSeconds for the time that the gateway adds.
var (
	modelSeconds = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	ownSeconds   = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
)

// Set is every metric of a gateway. A reloaded gateway keeps the set of its predecessor.
type Set struct {
	Requests, Tokens, Calls, Repairs, Suspected, Invalid, Failures, Refused, Warnings, Cached, Forwarded, Reloads, HostedCalls, MissingServers, Estimated, State, Outcomes, Dollars Metric
	Duration, FirstByte, AddedLatency, FirstToken                                                                                                                                   Metric
}

func New() *Set {
	m := new(Set)
	for _, row := range []struct {
		of         *Metric
		name, help string
		buckets    []float64
		labels     []string
	}{
		{&m.Requests, "toolpost_requests_total", "Answered requests. The upstream is the last one asked, or none. The status was sent when the answer began: 200 also for a stream that broke off.", nil, []string{"route", "upstream", "format", "status"}},
		{&m.Duration, "toolpost_request_seconds", "Time from the first byte of a request to the last byte of its answer.", modelSeconds, []string{"route", "format"}},
		{&m.FirstByte, "toolpost_first_byte_seconds", "Time from the request to the first byte of the answer.", modelSeconds, []string{"route", "format"}},
		{&m.AddedLatency, "toolpost_added_seconds", "Time that the gateway adds before the first byte: from the last byte of the request until the upstream is asked, and from the first event of its answer until that is sent.", ownSeconds, []string{"route", "format"}},
		{&m.FirstToken, "toolpost_first_token_seconds", "Time from asking an upstream to the first text, thinking or call of its answer, if it is a stream.", modelSeconds, []string{"route", "upstream"}},
		{&m.Outcomes, "toolpost_outcomes_total", "Requests by how they ended: ok, client_error, upstream_error, gateway_error, broken_stream (after the answer had begun) or cancelled (by the client).", nil, []string{"route", "team", "outcome"}},
		{&m.Tokens, "toolpost_tokens_total", "Tokens that upstreams report. With keys, booked tokens, including estimates. Without keys, an answer without reported usage adds none.", nil, []string{"route", "upstream", "kind", "team"}},
		{&m.Dollars, "toolpost_dollars_total", "What requests cost, in US dollars, as far as prices are known.", nil, []string{"route", "upstream", "team"}},
		{&m.Calls, "toolpost_calls_total", "Tool calls by dialect. Native calls came through the API of the vendor.", nil, []string{"route", "dialect"}},
		{&m.Repairs, "toolpost_repairs_total", "Repairs of tool calls, by class.", nil, []string{"route", "class"}},
		{&m.Suspected, "toolpost_unpromoted_calls_total", "Text that looks like a call and stayed text.", nil, []string{"route", "code"}},
		{&m.Invalid, "toolpost_invalid_calls_total", "Calls that cannot run. The reason schema means arguments that do not match the tool.", nil, []string{"route", "reason"}},
		{&m.Warnings, "toolpost_warnings_total", "Warnings to clients, by code.", nil, []string{"route", "code"}},
		{&m.Failures, "toolpost_upstream_failures_total", "Failed upstreams by kind of failure, as in the log, under the requested route.", nil, []string{"route", "upstream", "kind"}},
		{&m.Refused, "toolpost_refused_total", "Requests that were refused before an upstream was asked: busy, route_busy, draining; for keys no_key, wrong_key, expired, revoked, model, tool, route, member, price, rate, budget, reserved.", nil, []string{"reason"}},
		{&m.Cached, "toolpost_cache_total", "Requests to routes with a cache: hits and misses.", nil, []string{"route", "result"}},
		{&m.Forwarded, "toolpost_passed_total", "Requests to endpoints that are passed on.", nil, []string{"route", "endpoint", "status"}},
		{&m.HostedCalls, "toolpost_served_calls_total", "Calls that the gateway runs itself: ok, refused, failed, abandoned, unknown, or waiting for a person.", nil, []string{"route", "status"}},
		{&m.MissingServers, "toolpost_missing_servers_total", "Requests that were answered without the tools of an MCP server, because it was not available.", nil, []string{"route", "server"}},
		{&m.Estimated, "toolpost_estimated_total", "Answers with estimated tokens, because the upstream reported none (absent) or a part (partly) or impossible numbers (odd), or because the answer is unfinished (lost).", nil, []string{"route", "reason"}},
		{&m.State, "toolpost_state_failures_total", "Failed reads and writes of the state between requests.", nil, []string{"kind", "op"}},
		{&m.Reloads, "toolpost_config_reloads_total", "Reloads of the configuration.", nil, []string{"result"}},
	} {
		row.of.name, row.of.help, row.of.buckets, row.of.labels = row.name, row.help, row.buckets, row.labels
	}
	return m
}

// Row describes a metric.
type Row struct {
	Name, Kind, Help string
	Labels           []string
}

// Rows describes the counters and histograms, which are not in the output before their first count.
func (m *Set) Rows() []Row {
	var rows []Row
	for _, one := range m.all() {
		rows = append(rows, Row{one.name, one.kind(), one.help, one.labels})
	}
	return rows
}

func (m *Metric) kind() string {
	if m.buckets != nil {
		return "histogram"
	}
	return "counter"
}

// all returns the metrics in the order in which they are written.
func (m *Set) all() []*Metric {
	return []*Metric{&m.Requests, &m.Duration, &m.FirstByte, &m.AddedLatency, &m.FirstToken, &m.Outcomes, &m.Tokens, &m.Dollars, &m.Calls, &m.Repairs, &m.Suspected, &m.Invalid, &m.Warnings,
		&m.Failures, &m.Refused, &m.Cached, &m.Forwarded, &m.HostedCalls, &m.MissingServers, &m.Estimated, &m.State, &m.Reloads}
}

// NewGauge returns a gauge.
func NewGauge(name, help string, labels []string, values map[Labels]float64) Gauge {
	return Gauge{name, help, labels, values}
}

// Gauge is a current value, by label values. A name that ends in _total marks a counter that is kept elsewhere.
type Gauge struct {
	name, help string
	labels     []string
	values     map[Labels]float64
}

func (g Gauge) write(w *bufio.Writer) {
	kind := "gauge"
	if strings.HasSuffix(g.name, "_total") {
		kind = "counter"
	}
	writeHead(w, g.name, g.help, kind)
	for _, of := range slices.SortedFunc(maps.Keys(g.values), func(a, b Labels) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		writeSample(w, g.name, g.labels, of[:], "", g.values[of])
	}
}

// Text writes the metrics and some gauges in the text format. The text is complete before any of it is sent, because
// counters are locked while they are written and a client may read slowly.
func (m *Set) Text(gauges []Gauge) []byte {
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	for _, family := range m.all() {
		family.write(out)
	}
	for _, g := range gauges {
		g.write(out)
	}
	_ = out.Flush() // a buffer takes everything
	return text.Bytes()
}
