package otlp

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/observe/internal/pairs"
)

// The histograms of model calls, with the names, units and bounds of the semantic conventions for generative AI.
var (
	tokenUsage = instrument{"gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.",
		[]float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}}
	duration = instrument{"gen_ai.client.operation.duration", "s", "GenAI operation duration.",
		[]float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}}
	firstChunk = instrument{"gen_ai.client.operation.time_to_first_chunk", "s", "Time to receive the first chunk.",
		[]float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}}
)

// maxSeries bounds the attribute sets of all histograms. Models name themselves, so their number is not bounded otherwise.
// Further sets share one series with the attribute otel.metric.overflow.
const maxSeries = 1000

// metricsEvery is the time between two exports of metrics.
const metricsEvery = time.Minute

// instrument is a histogram before its first value.
type instrument struct {
	name, unit, about string
	bounds            []float64
}

// series are the values of an instrument with one set of attributes.
type series struct {
	attributes    []attribute
	count         uint64
	sum, min, max float64
	buckets       []uint64
}

// metrics collects the values of model calls since the start of the exporter.
type metrics struct {
	mu      sync.Mutex
	start   time.Time
	series  map[string]map[string]*series // by the names of instruments and by their attributes
	n       int
	changed bool
}

// modelCall records a model call. The sampling of traces does not matter here.
func (m *metrics) modelCall(x *observe.ModelCall) {
	common := []string{"gen_ai.operation.name", "chat", "gen_ai.provider.name", cmp.Or(x.Vendor, "unknown"), "gen_ai.request.model", cmp.Or(x.Name, named(x.Model)),
		"gen_ai.response.model", x.Answered, "server.address", x.Host}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := x.Timing()
	failed := common
	if at.Err != nil {
		failed = append(slices.Clone(common), "error.type", llm.KindOf(at.Err).String())
	}
	m.add(duration, at.Took.Seconds(), failed)
	if x.First > 0 {
		m.add(firstChunk, x.First.Seconds(), common)
	}
	for _, t := range []struct {
		kind string
		n    int
	}{{"input", x.Usage.Input}, {"output", x.Usage.Output}} {
		if t.n > 0 {
			m.add(tokenUsage, float64(t.n), append(slices.Clone(common), "gen_ai.token.type", t.kind))
		}
	}
}

// add adds a value to the series of the attributes.
func (m *metrics) add(i instrument, v float64, names []string) {
	list := pairs.Text(nil, func(name, text string) attribute { return attribute{name, value{Text: text}} }, names...)
	var key strings.Builder
	for _, a := range list {
		key.WriteString(a.Key + "\x00" + a.Value.Text + "\x00")
	}
	if m.series == nil {
		m.series = make(map[string]map[string]*series)
	}
	of := m.series[i.name]
	if of == nil {
		of = make(map[string]*series)
		m.series[i.name] = of
	}
	s := of[key.String()]
	if s == nil && m.n >= maxSeries {
		key.Reset()
		list = []attribute{{"otel.metric.overflow", value{Bool: true}}}
		s = of[""]
	}
	if s == nil {
		s = &series{attributes: list, min: v, max: v, buckets: make([]uint64, len(i.bounds)+1)}
		of[key.String()] = s
		m.n++
	}
	s.count++
	s.sum += v
	s.min, s.max = min(s.min, v), max(s.max, v)
	at, _ := slices.BinarySearch(i.bounds, v) // a bucket includes its upper bound
	s.buckets[at]++
	m.changed = true
}

// point, histogram and metric are those of the protocol.
type (
	point struct {
		Attributes []attribute `json:"attributes"`
		Start      string      `json:"startTimeUnixNano"`
		Time       string      `json:"timeUnixNano"`
		Count      string      `json:"count"`
		Sum        float64     `json:"sum"`
		Buckets    []string    `json:"bucketCounts"`
		Bounds     []float64   `json:"explicitBounds"`
		Min        float64     `json:"min"`
		Max        float64     `json:"max"`
	}
	histogram struct {
		Points      []point `json:"dataPoints"`
		Temporality int     `json:"aggregationTemporality"` // 2 is cumulative
	}
	metric struct {
		Name      string    `json:"name"`
		About     string    `json:"description"`
		Unit      string    `json:"unit"`
		Histogram histogram `json:"histogram"`
	}
)

// export returns all values since the start, and nil if nothing is new.
func (m *metrics) export(now time.Time) []metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.changed {
		return nil
	}
	m.changed = false
	var out []metric
	for _, i := range []instrument{tokenUsage, duration, firstChunk} {
		of := m.series[i.name]
		if len(of) == 0 {
			continue
		}
		h := histogram{Temporality: 2}
		for _, s := range of {
			p := point{Attributes: s.attributes, Start: nanos(m.start), Time: nanos(now), Count: strconv.FormatUint(s.count, 10), Sum: s.sum, Bounds: i.bounds, Min: s.min, Max: s.max}
			for _, n := range s.buckets {
				p.Buckets = append(p.Buckets, strconv.FormatUint(n, 10))
			}
			h.Points = append(h.Points, p)
		}
		out = append(out, metric{i.name, i.about, i.unit, h})
	}
	return out
}
