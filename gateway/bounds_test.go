package gateway

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSeriesAreBounded checks that a meter has a bounded number of series, loses no count, and that
// no value of a label can write a line of its own.
func TestSeriesAreBounded(t *testing.T) {
	m := meter{name: "m", help: "h", labels: []string{"a", "b"}}
	for i := range maxSeries + 500 {
		m.add(1, fmt.Sprint(i), "x")
	}
	m.add(1, "first \"quoted\"\n\\ # TYPE m gauge", strings.Repeat("long", maxLabel))
	if len(m.series) > maxSeries+1 {
		t.Errorf("%d series", len(m.series))
	}
	if n := m.series[marks{other, other}].value; n != 501 {
		t.Errorf("%v counts went to the others, want 501", n)
	}
	m = meter{name: "m", help: "h", labels: []string{"a", "b"}}
	m.add(2, "a \"quoted\"\n\\ word", strings.Repeat("long", maxLabel))
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	m.write(w)
	w.Flush()
	want := "# HELP m h\n# TYPE m counter\nm{a=\"a \\\"quoted\\\"\\n\\\\ word\",b=\"" + strings.Repeat("long", maxLabel/4) + "\"} 2\n"
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
}

// TestCacheIsBounded checks that a cache lets go of what was not used for longest, and of what is
// too old.
func TestCacheIsBounded(t *testing.T) {
	var c cache
	now := time.Unix(1000, 0)
	key := func(i int) (k cacheKey) {
		binary.BigEndian.PutUint64(k[:], uint64(i))
		return k
	}
	for i := range 100 {
		c.put(&cached{key: key(i), until: now.Add(time.Minute), body: make([]byte, maxCached)})
		if c.get(key(0), now) == nil {
			t.Fatalf("the answer that is used again and again is gone after %d", i)
		}
	}
	if c.size > maxCachedTotal || len(c.at) != c.order.Len() || c.get(key(1), now) != nil || c.get(key(99), now) == nil {
		t.Errorf("%d bytes in %d answers", c.size, len(c.at))
	}
	if c.get(key(99), now.Add(time.Minute)) != nil {
		t.Error("an answer is given when its time is over")
	}
	for i := range 100 {
		c.get(key(i), now.Add(time.Hour))
	}
	if c.size != 0 || len(c.at) != 0 {
		t.Errorf("%d bytes in %d answers that are too old", c.size, len(c.at))
	}
}
