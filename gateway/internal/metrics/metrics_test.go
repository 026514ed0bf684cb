package metrics

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestSeriesAreBounded checks that a metric has a limited number of series and loses no count, and that a label value
// cannot start a new line.
func TestSeriesAreBounded(t *testing.T) {
	m := Metric{name: "m", help: "h", labels: []string{"a", "b"}}
	for i := range maxSeries + 500 {
		m.Add(1, fmt.Sprint(i), "x")
	}
	m.Add(1, "first \"quoted\"\n\\ # TYPE m gauge", strings.Repeat("long", maxLabel))
	if len(m.series) > maxSeries+1 {
		t.Errorf("%d series", len(m.series))
	}
	if n := m.series[Labels{overflowLabel, overflowLabel}].value; n != 501 {
		t.Errorf("%v counts went to the others, want 501", n)
	}
	m = Metric{name: "m", help: "h", labels: []string{"a", "b"}}
	m.Add(2, "a \"quoted\"\n\\ word", strings.Repeat("long", maxLabel))
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	m.write(w)
	w.Flush()
	want := "# HELP m h\n# TYPE m counter\nm{a=\"a \\\"quoted\\\"\\n\\\\ word\",b=\"" + strings.Repeat("long", maxLabel/4) + "\"} 2\n"
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
}
