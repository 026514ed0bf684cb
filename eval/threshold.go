package eval

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/catalog"
)

// A Threshold is a bound on the figures of a model, like right<90%, or on their change from another run, like right<-2%.
type Threshold struct {
	text   string
	metric metric
	below  bool
	bound  float64
	change bool
}

// metric is a figure that a threshold can name.
type metric struct {
	name string
	// share reports that the figure is a share. Its change is in points, and that of other figures in percent.
	share bool
	value func(m *ModelSummary) (float64, bool)
}

func shareMetric(name string, of func(m *ModelSummary) Interval) metric {
	return metric{name, true, func(m *ModelSummary) (float64, bool) { i := of(m); return 100 * i.Share, i.Of > 0 }}
}

func plainMetric(name string, of func(m *ModelSummary) float64) metric {
	return metric{name, false, func(m *ModelSummary) (float64, bool) { return of(m), true }}
}

var metrics = []metric{
	shareMetric("right", func(m *ModelSummary) Interval { return m.Right }),
	{"weighted", true, func(m *ModelSummary) (float64, bool) { return 100 * m.Weighted, m.Right.Of > 0 }},
	shareMetric("right_tools", func(m *ModelSummary) Interval { return m.RightTools }),
	shareMetric("right_arguments", func(m *ModelSummary) Interval { return m.RightArguments }),
	shareMetric("first_attempt", func(m *ModelSummary) Interval { return m.FirstAttempt }),
	shareMetric("valid_calls", func(m *ModelSummary) Interval { return m.ValidCalls }),
	shareMetric("needless_calls", func(m *ModelSummary) Interval { return m.NeedlessCalls }),
	plainMetric("invalid_calls", func(m *ModelSummary) float64 { return float64(m.InvalidCalls) }),
	plainMetric("errors", func(m *ModelSummary) float64 { return float64(m.Errors) }),
	plainMetric("retries", func(m *ModelSummary) float64 { return float64(m.Retries) }),
	plainMetric("tokens", func(m *ModelSummary) float64 { return float64(m.Usage.Input + m.Usage.Output) }),
	plainMetric("cost", func(m *ModelSummary) float64 { return float64(m.Cost) / float64(catalog.Dollar) }),
	plainMetric("latency_ms", func(m *ModelSummary) float64 { return float64(m.Latency[0]) }),
}

// ThresholdMetrics are the names of the figures that thresholds can use.
func ThresholdMetrics() []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.name
	}
	return names
}

var thresholdForm = regexp.MustCompile(`^\s*([a-z_]+)\s*([<>])\s*([+-]?)\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*$`)

// ParseThreshold reads a threshold: a figure, < or >, and a bound. A bound with a sign is a change from the other run:
// right<-2% fails when more than two points are lost. Shares are in percent.
func ParseThreshold(text string) (Threshold, error) {
	part := thresholdForm.FindStringSubmatch(text)
	if part == nil {
		return Threshold{}, fmt.Errorf("%q is not a condition like right<90%%, right<-2%% or tokens>+10%%", text)
	}
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == part[1] })
	if i < 0 {
		return Threshold{}, fmt.Errorf("%q: unknown figure %q; there are %s", text, part[1], strings.Join(ThresholdMetrics(), ", "))
	}
	t := Threshold{text: strings.TrimSpace(text), metric: metrics[i], below: part[2] == "<", change: part[3] != ""}
	percent := part[5] == "%"
	switch {
	case (t.metric.share || t.change) && !percent:
		return Threshold{}, fmt.Errorf("%q: write the bound of %s in percent", text, part[1])
	case !t.metric.share && !t.change && percent:
		return Threshold{}, fmt.Errorf("%q: %s is not a share; write a number, or a change like +10%%", text, part[1])
	}
	var err error
	t.bound, err = strconv.ParseFloat(part[3]+part[4], 64)
	return t, err
}

// NeedsBaseline reports whether the threshold is about a change.
func (t Threshold) NeedsBaseline() bool { return t.change }

// String returns the threshold as it was written.
func (t Threshold) String() string { return t.text }

// Trips returns why the threshold fails a model, and "" if it does not. before is the same model in the other run, nil
// without one. A threshold on a figure that a run does not have fails.
func (t Threshold) Trips(now, before *ModelSummary) string {
	value, known := t.metric.value(now)
	if !known {
		return fmt.Sprintf("%s has no figure %s", now.Model, t.metric.name)
	}
	if !t.change {
		if !t.beyond(value) {
			return ""
		}
		return fmt.Sprintf("%s of %s is %s", t.metric.name, now.Model, t.format(value))
	}
	var was float64
	if known = before != nil; known {
		was, known = t.metric.value(before)
	}
	if !known {
		return fmt.Sprintf("%s of %s has nothing to be compared with", t.metric.name, now.Model)
	}
	change := value - was
	if !t.metric.share {
		if change *= 100; was != 0 {
			change /= was
		}
	}
	if !t.beyond(change) {
		return ""
	}
	return fmt.Sprintf("%s of %s went from %s to %s", t.metric.name, now.Model, t.format(was), t.format(value))
}

// rounding is the tolerance of a comparison, so that a change of exactly the bound is not beyond it.
const rounding = 1e-9

func (t Threshold) beyond(v float64) bool {
	if t.below {
		return v < t.bound-rounding
	}
	return v > t.bound+rounding
}

func (t Threshold) format(v float64) string {
	if t.metric.share {
		return fmt.Sprintf("%.1f %%", v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
