package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

// bodies checks that the bodies of a request are found by its id, also by another gateway, are written once, and are
// deleted with the log.
func bodies(t *testing.T, open opener) {
	now := newClock()
	b := &access.Book{Store: open(t), Now: now.now}
	ctx := t.Context()
	g, _ := create(t, b, access.Key{})
	admit := func(id string) *access.Admission {
		t.Helper()
		a, err := b.Admit(ctx, g, access.Claim{ID: id, Model: "fast"})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	asked := access.KeptBody{Type: "application/json", Size: 9, Text: "a \x00 b é"}
	for _, answer := range []string{"first", "second"} {
		if err := b.KeepBodies(ctx, admit("r1"), access.Bodies{ID: "other", Team: "other", Request: asked, Answer: access.KeptBody{Note: answer}}); err != nil {
			t.Fatal(err)
		}
	}
	other := &access.Book{Store: open(t), Now: now.now}
	if got, err := other.Bodies(ctx, "r1"); err != nil || got != (access.Bodies{ID: "r1", At: noon, Team: "red", Request: asked, Answer: access.KeptBody{Note: "first"}}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := b.Bodies(ctx, "other"); !errors.Is(err, access.ErrNotThere) {
		t.Errorf("%+v, %v", got, err)
	}
	now.pass(time.Hour)
	if err := b.KeepBodies(ctx, admit("r2"), access.Bodies{Request: asked}); err != nil {
		t.Fatal(err)
	}
	if err := b.Clean(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Bodies(ctx, "r1"); !errors.Is(err, access.ErrNotThere) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := b.Bodies(ctx, "r2"); err != nil {
		t.Error(err)
	}
}

func usageAndLog(t *testing.T, open opener) {
	c := newClock()
	b := &access.Book{Store: open(t), Now: c.now}
	ctx := t.Context()
	red, _ := create(t, b, access.Key{Team: "red"})
	blue, _ := create(t, b, access.Key{Team: "blue"})
	for i, one := range []struct {
		g     *access.Rights
		model string
		e     access.LogLine
	}{
		{red, "fast", access.LogLine{Status: "ok", Route: "fast", Upstream: "sim/offline", Format: "chat", Input: 10, Output: 5, Money: 7, Took: time.Second}},
		{red, "big", access.LogLine{Status: "rate_limited", Input: 1, Unpriced: true}},
		{blue, "fast", access.LogLine{Status: "ok", Input: 100, Output: 50, Money: 70, Estimated: true}},
		{red, "fast", access.LogLine{Status: "ok", Input: 20, Output: 10, Money: 14}},
		{blue, "free-x", access.LogLine{Status: "ok", Route: "free-*", Upstream: "sim/x", Cached: true}},
	} {
		a, err := b.Admit(ctx, one.g, access.Claim{ID: fmt.Sprint("r", i), Model: one.model})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Settle(ctx, a, one.e); err != nil {
			t.Fatal(err)
		}
		if i < 4 {
			c.pass(8 * time.Hour) // the third is on the next day
		}
	}
	if err := b.Refuse(ctx, blue, "free-*"); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Hour)
	b = &access.Book{Store: open(t), Now: c.now}
	for _, test := range []struct {
		since time.Time
		by    []access.Grouping
		want  string
	}{
		{time.Time{}, nil, "[{      5 1 1 1 131 65 91 1 1}]"},
		{time.Time{}, []access.Grouping{access.ByTeam}, "[{blue      2 0 1 1 100 50 70 0 1} {red      3 1 0 0 31 15 21 1 0}]"},
		{time.Time{}, []access.Grouping{access.ByModel, access.ByDay}, "[{     2026-11-17 0 0 0 1 0 0 0 0 0} {   big  2026-11-16 1 1 0 0 1 0 0 1 0} {   fast  2026-11-16 1 0 0 0 10 5 7 0 0} {   fast  2026-11-17 2 0 0 0 120 60 84 0 1} {   free-x  2026-11-17 1 0 1 0 0 0 0 0 0}]"},
		{noon.AddDate(0, 0, 1), []access.Grouping{access.ByDay}, "[{     2026-11-17 3 0 1 1 120 60 84 0 1}]"},
		{noon.AddDate(0, 0, 1), []access.Grouping{access.ByRoute, access.ByUpstream}, "[{      2 0 0 0 120 60 84 0 1} {  free-*    0 0 0 1 0 0 0 0 0} {  free-*  sim/x  1 0 1 0 0 0 0 0 0}]"},
		{noon.AddDate(0, 0, 5), []access.Grouping{access.ByDay}, "[]"},
	} {
		got, err := b.Usage(ctx, test.since, test.by...)
		text := make([]string, len(got))
		for i, u := range got {
			text[i] = fmt.Sprintf("{%s %s %s %s %s %s %d %d %d %d %d %d %d %d %d}", u.Team, u.Key, u.Route, u.Model, u.Upstream, u.Day, u.Requests, u.Failed, u.Cached, u.Refused, u.Input, u.Output, int64(u.Money), u.Unpriced, u.Estimated)
		}
		if s := "[" + strings.Join(text, " ") + "]"; err != nil || s != test.want {
			t.Errorf("%v: %s, %v", test.by, s, err)
		}
	}
	if _, err := b.Usage(ctx, time.Time{}, "1; DROP TABLE toolpost_spend"); err == nil {
		t.Error("usage was told by something else")
	}
	if log, err := b.Log(ctx, 2); err != nil || len(log) != 2 || log[0].ID != "r4" || !log[0].Cached || log[0].Route != "free-*" || log[1].ID != "r3" || log[1].Cached {
		t.Errorf("%+v, %v", log, err)
	}
	if err := b.Clean(ctx, 10*time.Hour); err != nil {
		t.Fatal(err)
	}
	log, err := b.Log(ctx, 100)
	if err != nil || len(log) != 2 || log[1].ID != "r3" {
		t.Errorf("%+v, %v", log, err)
	}
	if sum, err := b.Usage(ctx, time.Time{}); err != nil || sum[0].Requests != 5 {
		t.Errorf("the sums went with the log: %+v, %v", sum, err)
	}
}

// shaky is a store that fails a few times.
type shaky struct {
	access.Store
	mu    sync.Mutex
	fails int
}

func (s *shaky) Settle(ctx context.Context, e access.LogLine, w []access.Window) (map[access.Window]access.Count, error) {
	s.mu.Lock()
	s.fails--
	fails := s.fails >= 0
	s.mu.Unlock()
	if fails {
		return nil, &access.StoreError{Err: errors.New("the server is shutting down")}
	}
	return s.Store.Settle(ctx, e, w)
}

// TestSettleAgain checks that usage is written once the store works again: before the request ends if that is soon,
// otherwise later. In the second case the caller gets a LateError and does not wait long.
func TestSettleAgain(t *testing.T) {
	for fails, late := range map[int]bool{0: false, 2: false, 100: true} {
		synctest.Test(t, func(t *testing.T) {
			b := &access.Book{Store: &shaky{Store: new(access.Memory), fails: fails}}
			g, _ := create(t, b, access.Key{})
			a, err := b.Admit(t.Context(), g, access.Claim{ID: "r", Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			err = b.Settle(t.Context(), a, access.LogLine{Status: "ok", Input: 7})
			later := new(access.LateError)
			if errors.As(err, &later) != late || err != nil && !late || time.Since(began) > 3*time.Second {
				t.Errorf("%d: %v after %s", fails, err, time.Since(began))
			}
			if n := b.Late(); (n == 1) != late {
				t.Errorf("%d: %d are late", fails, n)
			}
			if left := b.Close(t.Context()); left != 0 {
				t.Errorf("%d: %d are left", fails, left)
			}
			log, _ := b.Log(t.Context(), 9)
			if len(log) != 1 || log[0].Input != 7 {
				t.Errorf("%d: %+v", fails, log)
			}
		})
	}
}

// TestTooMuchIsLate checks that the queue of unwritten usage is limited, and that lost usage is reported.
func TestTooMuchIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &access.Book{Store: &shaky{Store: new(access.Memory), fails: 1 << 30}}
		g, _ := create(t, b, access.Key{})
		a, err := b.Admit(t.Context(), g, access.Claim{ID: "r", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var lost atomic.Int64
		for range 10_005 {
			wg.Go(func() {
				later := new(access.LateError)
				if err := b.Settle(t.Context(), a, access.LogLine{Status: "ok"}); !errors.As(err, &later) {
					lost.Add(1)
				}
			})
		}
		wg.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if left := b.Close(ctx); left != 10_000 || lost.Load() != 5 {
			t.Errorf("%d are left, %d were lost", left, lost.Load())
		}
	})
}
