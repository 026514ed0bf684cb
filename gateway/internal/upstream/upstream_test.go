package upstream

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/llm"
)

// routeTo returns a route with upstreams, which open models that are never asked.
func routeTo(name string, models ...string) *Route {
	r := NewRoute(name)
	for _, m := range models {
		u := NewTarget(m)
		u.Weight, u.OpenModel = 1, func(string) (llm.Model, error) { return llm.ModelFunc(nil), nil }
		r.Targets = append(r.Targets, u)
	}
	return r
}

func candidatesOf(t *testing.T, r *Route, name string) []Candidate {
	t.Helper()
	list, err := Table{r}.Candidates(r, name, "", func(*Route) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// asker answers with the error of each upstream, by id.
type asker struct {
	errs  map[string]error
	asked []string
}

func (a *asker) Ask(to *Candidate, _ bool) (bool, error) {
	a.asked = append(a.asked, to.ID)
	return false, a.errs[to.ID]
}

func (a *asker) Hedges() bool { return false }

func (a *asker) Paused(*Candidate, time.Duration) {}

func (a *asker) Race(*Candidate, *Candidate) Raced { panic("not asked for") }

func (a *asker) Failed(*Candidate, error, *Candidate) {}

// TestBreakerPerModelOfWildcardRoute checks that the models of a wildcard route fail separately, and that clients who
// make up names neither fill the memory nor change the state of other models.
func TestBreakerPerModelOfWildcardRoute(t *testing.T) {
	r := routeTo("*", "a/*", "b/*")
	down := &asker{errs: map[string]error{"a/bad": &llm.Error{Kind: llm.NotFound, Status: 404}}}
	for range 10 {
		if err := Failover(t.Context(), candidatesOf(t, r, "bad"), down); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(down.asked), func(id string) bool { return id != "a/bad" })); n != 3 {
		t.Errorf("the failing model was asked %d times", n)
	}
	if s := r.Targets[0].of("a/good").breaker.State(time.Now, Limits); s != breaker.Closed {
		t.Errorf("the breaker of another model is %v", s)
	}
	if !r.Targets[0].reachable() {
		t.Error("the upstream counts as unreachable because of one model")
	}
	for i := range 3 * MaxOpened {
		r.Targets[0].of(string(rune('a' + i)))
	}
	if n := len(r.Targets[0].models); n > MaxOpened+1 {
		t.Errorf("%d states are kept", n)
	}
	if s := r.Targets[0].of("a/bad").breaker.State(time.Now, Limits); s != breaker.Refuses {
		t.Errorf("made-up names closed a breaker: %v", s)
	}
}

// TestStrategies checks the order of upstreams for every strategy, and that the priority comes first.
func TestStrategies(t *testing.T) {
	r := routeTo("m", "a/m", "b/m", "c/m")
	order := func() (ids []string) {
		for _, c := range candidatesOf(t, r, "m") {
			ids = append(ids, c.ID)
		}
		return ids
	}
	check := func(what string, want ...string) {
		t.Helper()
		if got := order(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	r.Targets[0].busy.Store(5)
	r.Targets[1].busy.Store(2)
	check("weighted", "b/m", "c/m", "a/m")
	r.Strategy = LeastBusy
	check("least busy", "c/m", "b/m", "a/m")
	r.Targets[0].Weight = 10
	check("least busy for its weight", "a/m", "c/m", "b/m")
	r.Targets[0].Weight, r.Strategy = 1, Fastest
	for i, took := range []time.Duration{time.Second, 3 * time.Second, 2 * time.Second} {
		r.Targets[i].of(r.Targets[i].Model).began(took, false)
	}
	check("fastest", "a/m", "c/m", "b/m")
	for range 5 {
		r.Targets[0].of("a/m").began(time.Minute, false)
	}
	check("slower now", "c/m", "b/m", "a/m")
	r.Targets[2].Priority = 1
	check("priority", "b/m", "a/m", "c/m")
}

// TestMaxInFlightOfUpstream checks that an upstream at its limit is not asked, not even as the last resort.
func TestMaxInFlightOfUpstream(t *testing.T) {
	r := routeTo("m", "a/m", "b/m")
	r.Targets[0].MaxInFlight, r.Targets[1].MaxInFlight = 1, 1
	r.Targets[0].busy.Store(1)
	a := new(asker)
	if err := Failover(t.Context(), candidatesOf(t, r, "m"), a); err != nil || !slices.Equal(a.asked, []string{"b/m"}) {
		t.Error(err, a.asked)
	}
	r.Targets[1].busy.Store(1)
	r.Targets[1].sick.Store(true)
	err := Failover(t.Context(), candidatesOf(t, r, "m"), a)
	var told *llm.Error
	if !errors.As(err, &told) || told.Status != http.StatusTooManyRequests || told.RetryAfter == 0 || len(a.asked) != 1 {
		t.Error(err, a.asked)
	}
	if r.Targets[0].busy.Load() != 1 || r.Targets[1].busy.Load() != 1 {
		t.Error("a refused request is counted")
	}
}

// TestFirstByteIsLearnedUpwards checks the default wait for the beginning of an answer: a minute where another upstream
// can be asked, more for a model that was slow, also if another upstream showed that the request was slow.
func TestFirstByteIsLearnedUpwards(t *testing.T) {
	r := routeTo("m", "a/m", "b/m")
	list := candidatesOf(t, r, "m")
	a, b := &list[0], &list[1]
	if d := a.FirstByte(true, false); d != time.Minute {
		t.Error(d)
	}
	if d := a.FirstByte(false, false); d != 0 {
		t.Errorf("the only upstream is given up after %v", d)
	}
	a.Cut(time.Minute)
	b.Began(90*time.Second, true)
	lessons(list, b)
	if a.FirstByte(true, true) != 3*time.Minute || b.FirstByte(true, true) != 3*time.Minute || a.FirstByte(true, false) != time.Minute {
		t.Error(a.FirstByte(true, true), b.FirstByte(true, true), a.FirstByte(true, false))
	}
	b.Began(time.Hour, false)
	if d := b.FirstByte(true, false); d != maxFirstByte {
		t.Error(d)
	}
	b.Timing.FirstByte = time.Second
	if d := b.FirstByte(false, false); d != time.Second {
		t.Error(d)
	}
}

// TestPauseAfterWrongKey checks that an upstream that refuses the key is skipped for longer than one that is busy.
func TestPauseAfterWrongKey(t *testing.T) {
	for kind, want := range map[llm.Kind]bool{llm.Auth: true, llm.Overloaded: false} {
		r := routeTo("m", "a/m", "b/m")
		down := &asker{errs: map[string]error{"a/m": &llm.Error{Kind: kind}}}
		for range 10 {
			if err := Failover(t.Context(), candidatesOf(t, r, "m"), down); err != nil {
				t.Fatal(err)
			}
		}
		later := func() time.Time { return time.Now().Add(2 * Limits.Cooldown) }
		if skipped := r.Targets[0].of("a/m").breaker.State(later, Limits) == breaker.Refuses; skipped != want {
			t.Errorf("%v: after two cooldowns it is skipped: %t", kind, skipped)
		}
	}
}
