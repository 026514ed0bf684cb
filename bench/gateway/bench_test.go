package main

import (
	"encoding/json"
	"math"
	"os/exec"
	"testing"
	"time"
)

// TestUse: the time of processes that a process started counts as its own.
func TestUse(t *testing.T) {
	p := &processes{}
	defer p.stop()
	one, err := p.run(exec.Command("sh", "-c", "sh -c 'while :; do :; done' & wait"))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		got, err := use(one.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if got.ticks >= 5 && got.pages > 0 {
			return
		}
	}
	t.Error("a child that never rests has used no time")
}

// TestRatios: ratios are taken inside a round, and the median of the rounds counts; a round without an
// answer does not.
func TestRatios(t *testing.T) {
	all := table{rounds: 3, results: map[cell][]result{
		{"direct", "json", "1"}:      {{rate: 1, p50: 1}, {rate: 1, p50: 2}, {rate: 1, p50: 3}},
		{"plain proxy", "json", "1"}: {{rate: 1, p50: 2}, {rate: 1, p50: 4}, {rate: 1, p50: 6}},
		{"other", "json", "1"}:       {{rate: 1, p50: 4}, {}, {rate: 1, p50: 18}},
	}}
	got := all.median(func(i int) float64 { return all.ratio(addedP50, cell{"other", "json", "1"}, "plain proxy", i) })
	if got != 4 { // of 3 and 5
		t.Errorf("the ratio is %v, want 4", got)
	}
	if none := all.median(func(int) float64 { return math.NaN() }); text("%.2f", none) != "–" {
		t.Errorf("no answer is written as %s", text("%.2f", none))
	}
}

// TestPeerHeaders: a header belongs to the peer before it.
func TestPeerHeaders(t *testing.T) {
	var list peerList
	if list.header("a: b") == nil {
		t.Error("a header without a peer is taken")
	}
	for _, text := range []string{"one=http://127.0.0.1:1,1", "two=http://127.0.0.1:2,2"} {
		if err := list.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := list.header("x-portkey-provider: openai"); err != nil {
		t.Fatal(err)
	}
	if len(list[0].headers) != 0 || len(list[1].headers) != 1 {
		t.Errorf("the headers are %q and %q", list[0].headers, list[1].headers)
	}
	if list.Set("three=http://127.0.0.1:3") == nil {
		t.Error("a peer without a process is taken")
	}
}

// TestLargeRequests: the large requests are JSON, and as large as they should be.
func TestLargeRequests(t *testing.T) {
	for _, messages := range []bool{false, true} {
		body := target{messages: messages}.question("large").body
		if !json.Valid([]byte(body)) || len(body) < 90_000 || len(body) > 110_000 {
			t.Errorf("%.100q… of %d bytes", body, len(body))
		}
	}
}
