package access_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/internal/pgtest"
)

// noon is when the tests begin.
var noon = time.Date(2026, 11, 16, 12, 0, 30, 0, time.UTC)

// clock is a time that tests set.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.at.Store(noon.UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d)) }

// opener opens the same store again, as another gateway would.
type opener func(t *testing.T) access.Store

// openDB opens a store in a database.
func openDB(driver, dsn string) opener {
	return func(t *testing.T) access.Store {
		t.Helper()
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if driver == "sqlite" {
			db.SetMaxOpenConns(1)
		}
		s, err := access.OpenSQL(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// stores are the kinds of stores, each with what makes an empty one.
var stores = map[string]func(t *testing.T) func(t *testing.T) opener{
	"memory": func(*testing.T) func(*testing.T) opener {
		return func(*testing.T) opener {
			m := new(access.Memory)
			return func(*testing.T) access.Store { return m }
		}
	},
	"sqlite": func(*testing.T) func(*testing.T) opener {
		return func(t *testing.T) opener {
			file := filepath.ToSlash(filepath.Join(t.TempDir(), "keys.db"))
			return openDB("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
		}
	},
	"postgres": func(t *testing.T) func(*testing.T) opener {
		server := pgtest.Server(t) // for all tests
		return func(t *testing.T) opener { return openDB("pgx", pgtest.Schema(t, server)) }
	},
}

func limit(t *testing.T, texts ...string) []access.Quota {
	t.Helper()
	var list []access.Quota
	for _, s := range texts {
		l, err := access.ParseQuota(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// create makes a key and returns what its secret is good for.
func create(t *testing.T, b *access.Book, k access.Key) (*access.Rights, string) {
	t.Helper()
	if k.Team == "" {
		k.Team = "red"
	}
	_, secret, err := b.Create(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	return g, secret
}

// reason is why an error refuses, "" if it does not.
func reason(t *testing.T, err error) access.Ground {
	t.Helper()
	var r *access.Refusal
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &r):
		t.Fatal(err)
	}
	return r.Ground
}

// promises are what every store keeps.
var promises = []struct {
	name string
	test func(t *testing.T, open opener)
}{
	{"life of a key", lifeOfAKey},
	{"changes at once", changesAtOnce},
	{"limits", limits},
	{"together", together},
	{"rounds", rounds},
	{"reserved", reserved},
	{"two gateways", twoGateways},
	{"reservations of the dead", reservationsOfTheDead},
	{"periods", periods},
	{"unknown prices", unknownPrices},
	{"usage and log", usageAndLog},
	{"bodies", bodies},
	{"no secrets", noSecrets},
}

// bodies checks that what a request asked and was answered is found by its id, by another gateway too, is written once, and goes with the log.
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

// TestStores runs every promise on every store.
func TestStores(t *testing.T) {
	for kind, prepare := range stores {
		t.Run(kind, func(t *testing.T) {
			empty := prepare(t)
			for _, p := range promises {
				t.Run(p.name, func(t *testing.T) { p.test(t, empty(t)) })
			}
		})
	}
}

// rounds checks that a request which goes on is held to the budgets of its key by what it has spent itself and by what others have reserved, that
// it is counted once, and that what it reserves takes the place of what it had.
func rounds(t *testing.T, open opener) {
	b := &access.Book{Store: open(t), Now: newClock().now}
	ctx := t.Context()
	k, secret, err := b.Create(ctx, access.Key{Team: "red", Limits: limit(t, "tokens/day=100", "tokens/minute=1000", "requests/day=3")})
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Authenticate(ctx, secret)
	if err != nil {
		t.Fatal(err)
	}
	admit := func(id string, tokens int64) *access.Admission {
		t.Helper()
		a, err := b.Admit(ctx, g, access.Claim{ID: id, Model: "m", Tokens: tokens})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	one := admit("one", 10)
	for spent := int64(10); spent < 60; spent += 10 { // each takes the place of the one before
		if err := b.Renew(ctx, one, access.Count{Tokens: spent}, access.Claim{Tokens: 10}); err != nil {
			t.Fatalf("after %d: %v", spent, err)
		}
	}
	two := admit("two", 30) // 60 are reserved
	if err := b.Renew(ctx, one, access.Count{Tokens: 69}, access.Claim{Tokens: 10}); err != nil {
		t.Errorf("99 of 100: %v", err)
	}
	if err := b.Renew(ctx, one, access.Count{Tokens: 70}, access.Claim{Tokens: 10}); reason(t, err) != access.Reserved {
		t.Errorf("100 of 100: %v", err)
	}
	for _, a := range []*access.Admission{one, two} {
		if err := b.Settle(ctx, a, access.LogLine{Status: "ok", Input: 20}); err != nil {
			t.Fatal(err)
		}
	}
	three := admit("three", 1) // nothing is left of the reservations, and there were two requests
	if err := b.Renew(ctx, three, access.Count{Tokens: 59}, access.Claim{Tokens: 1}); err != nil {
		t.Errorf("%s: %v", k.ID, err)
	}
	if err := b.Renew(ctx, three, access.Count{Tokens: 60}, access.Claim{Tokens: 1}); reason(t, err) != access.Spent {
		t.Errorf("%v", err)
	}
}

// reserved checks that a budget counts what requests under way may use at most, and a limit per minute what is usual; that who is refused for
// the sake of others is told to ask again soon, not at the end of the period; and that what is left is there again when the others end.
func reserved(t *testing.T, open opener) {
	b := &access.Book{Store: open(t), Now: newClock().now}
	ctx := t.Context()
	for _, test := range []struct {
		limit  string
		claim  access.Claim // of two requests
		want   access.Ground
		within time.Duration // the client is to ask again
	}{
		{"tokens/month=1000", access.Claim{Tokens: 2000, Usual: access.Count{Tokens: 100}}, access.Reserved, 5 * time.Second},
		{"tokens/total=1000", access.Claim{Tokens: 2000}, access.Reserved, 5 * time.Second},
		{"money/day=0.001", access.Claim{Money: 1 << 50, Usual: access.Count{Money: 1}}, access.Reserved, 5 * time.Second},
		{"tokens/minute=1000", access.Claim{Tokens: 2000, Usual: access.Count{Tokens: 100}}, "", 0},
		{"tokens/minute=1000", access.Claim{Tokens: 2000}, access.TooFast, time.Minute},
		{"requests/day=1", access.Claim{Tokens: 2000}, access.Spent, 24 * time.Hour},
	} {
		g, _ := create(t, b, access.Key{Limits: limit(t, test.limit)})
		first, second := test.claim, test.claim
		first.ID, second.ID = g.Key.ID+"1", g.Key.ID+"2"
		a, err := b.Admit(ctx, g, first)
		if err != nil {
			t.Fatalf("%s: %v", test.limit, err)
		}
		_, err = b.Admit(ctx, g, second)
		if got := reason(t, err); got != test.want {
			t.Errorf("%s: %q, not %q", test.limit, got, test.want)
		}
		var r *access.Refusal
		if errors.As(err, &r) && (r.RetryAfter <= 0 || r.RetryAfter > test.within) {
			t.Errorf("%s: ask again after %s", test.limit, r.RetryAfter)
		}
		if err := b.Settle(ctx, a, access.LogLine{Status: "ok", Input: 10}); err != nil {
			t.Fatal(err)
		}
		second.ID += "again"
		if _, err := b.Admit(ctx, g, second); (err == nil) != (test.want != access.Spent) {
			t.Errorf("%s, after the first: %v", test.limit, err)
		}
	}
}

func lifeOfAKey(t *testing.T, open opener) {
	c := newClock()
	b := &access.Book{Store: open(t), Now: c.now}
	ctx := t.Context()
	k, first, err := b.Create(ctx, access.Key{Team: "red", Name: "laptop", Models: []string{"fast", "claude-*"}, Expires: noon.Add(48 * time.Hour)})
	if err != nil || !strings.HasPrefix(first, k.ID+"-") || k.Team != "red" {
		t.Fatalf("%+v, %v", k, err)
	}
	g, err := b.Authenticate(ctx, first)
	if err != nil || g.Key.ID != k.ID || g.Team.Name != "red" || !g.Key.AllowsModel("claude-opus") || g.Key.AllowsModel("gpt") {
		t.Fatalf("%+v, %v", g, err)
	}
	for _, wrong := range []string{"", "x", first[:len(first)-1], first + "A", k.ID, k.ID + "-", strings.ToLower(first), strings.Replace(first, "tp-", "sk-", 1), "tp-aaaaaaaaaa-" + first[14:]} {
		if _, err := b.Authenticate(ctx, wrong); reason(t, err) != access.WrongKey && reason(t, err) != access.NoKey {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	_, second, err := b.Rotate(ctx, k.ID, time.Hour)
	if err != nil || second == first {
		t.Fatal(err)
	}
	for _, secret := range []string{first, second} {
		if _, err := b.Authenticate(ctx, secret); err != nil {
			t.Errorf("within the hour: %v", err)
		}
	}
	c.pass(time.Hour)
	if _, err := b.Authenticate(ctx, first); reason(t, err) != access.WrongKey {
		t.Errorf("after the hour: %v", err)
	}
	c.pass(47 * time.Hour)
	if _, err := b.Authenticate(ctx, second); reason(t, err) != access.Expired {
		t.Errorf("expired: %v", err)
	}
	again := &access.Book{Store: open(t), Now: newClock().now}
	if _, err := again.Authenticate(ctx, second); err != nil {
		t.Errorf("opened again: %v", err)
	}
	if _, err := again.Revoke(ctx, k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Authenticate(ctx, second); reason(t, err) != access.Revoked {
		t.Errorf("revoked: %v", err)
	}
	if _, _, err := b.Rotate(ctx, k.ID, 0); err == nil {
		t.Error("a revoked key was rotated")
	}
	if _, err := b.Revoke(ctx, "tp-nobody"); err == nil {
		t.Error("a key that is not there was revoked")
	}
	if keys, err := b.Keys(ctx); err != nil || len(keys) != 1 || keys[0].State(c.now()) != "revoked" {
		t.Errorf("%+v, %v", keys, err)
	}
}

// changesAtOnce checks that no change is lost: a key that is rotated while it is revoked stays
// revoked.
func changesAtOnce(t *testing.T, open opener) {
	b := &access.Book{Store: open(t), Now: newClock().now}
	k, _, err := b.Create(t.Context(), access.Key{Team: "red"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { _, _, _ = b.Rotate(t.Context(), k.ID, 0) }) // which fails once it is revoked
		wg.Go(func() {
			if _, err := b.Revoke(t.Context(), k.ID); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if keys, err := b.Keys(t.Context()); err != nil || keys[0].State(noon) != "revoked" {
		t.Errorf("%+v, %v", keys, err)
	}
}

// limits checks each unit for key and team, and what is said to a client that reaches one.
func limits(t *testing.T, open opener) {
	store := open(t)
	for i, test := range []struct {
		key, team []string
		passes    int // requests of 100 tokens and a cent
		reason    access.Ground
		retry     time.Duration
	}{
		{[]string{"requests/minute=3"}, nil, 3, access.TooFast, 30 * time.Second},
		{[]string{"tokens/minute=250"}, nil, 3, access.TooFast, 30 * time.Second},
		{[]string{"money/day=0.02"}, nil, 2, access.Spent, 12*time.Hour - 30*time.Second},
		{[]string{"tokens/month=101"}, nil, 2, access.Spent, 14*24*time.Hour + 12*time.Hour - 30*time.Second},
		{[]string{"requests/total=1"}, nil, 1, access.Spent, 0},
		{nil, []string{"money/total=0.03"}, 3, access.Spent, 0},
		{[]string{"requests/day=9"}, []string{"requests/day=2"}, 2, access.Spent, 12*time.Hour - 30*time.Second},
		{[]string{"requests/day=0"}, nil, 0, access.Spent, 12*time.Hour - 30*time.Second},
		{[]string{"money/day=0"}, nil, 0, access.Spent, 12*time.Hour - 30*time.Second},
	} {
		b := &access.Book{Store: store, Now: newClock().now}
		team := fmt.Sprintf("team%d", i)
		if err := b.SetTeam(t.Context(), access.Team{Name: team, Limits: limit(t, test.team...)}); err != nil {
			t.Fatal(err)
		}
		g, _ := create(t, b, access.Key{Team: team, Limits: limit(t, test.key...)})
		passed := 0
		var err error
		for ; passed < 10; passed++ {
			var a *access.Admission
			if a, err = b.Admit(t.Context(), g, access.Claim{ID: fmt.Sprintf("r%d-%d", i, passed), Model: "m", Tokens: 100, Money: catalog.Dollar / 100}); err != nil {
				break
			}
			if err := b.Settle(t.Context(), a, access.LogLine{Status: "ok", Input: 60, Output: 40, Money: catalog.Dollar / 100}); err != nil {
				t.Fatal(err)
			}
		}
		var r *access.Refusal
		if !errors.As(err, &r) || passed != test.passes || r.Ground != test.reason || r.RetryAfter != test.retry {
			t.Errorf("%v, %v: %d passed, %+v, %v", test.key, test.team, passed, r, err)
		}
	}
}

// together checks that requests at the same time see each other's reservations.
func together(t *testing.T, open opener) {
	b := &access.Book{Store: open(t), Now: newClock().now}
	g, _ := create(t, b, access.Key{Limits: limit(t, "money/day=1")})
	if n := flood(t, []*access.Book{b}, g); n != 10 {
		t.Errorf("%d requests of 10 cents were let in by a dollar", n)
	}
}

// flood sends 40 requests of 10 cents at once, through all books, and returns how many were let in. They are not settled.
func flood(t *testing.T, books []*access.Book, g *access.Rights) int64 {
	t.Helper()
	var in atomic.Int64
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			_, err := books[i%len(books)].Admit(t.Context(), g, access.Claim{ID: fmt.Sprint("r", i), Model: "m", Tokens: 10, Money: catalog.Dollar / 10})
			if reason(t, err) == "" {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	return in.Load()
}

// twoGateways checks that gateways on one store share keys and limits.
func twoGateways(t *testing.T, open opener) {
	c := newClock()
	one, two := &access.Book{Store: open(t), Now: c.now}, &access.Book{Store: open(t), Now: c.now}
	if err := one.SetTeam(t.Context(), access.Team{Name: "red", Limits: limit(t, "money/total=1")}); err != nil {
		t.Fatal(err)
	}
	g, secret := create(t, one, access.Key{})
	if _, err := two.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if n := flood(t, []*access.Book{one, two}, g); n != 10 {
		t.Errorf("%d requests of 10 cents were let in by a dollar", n)
	}
	if _, err := two.Revoke(t.Context(), g.Key.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Authenticate(t.Context(), secret); reason(t, err) != access.Revoked {
		t.Errorf("revoked at the other gateway: %v", err)
	}
}

// reservationsOfTheDead checks that what a gateway reserved that died is there again later, and that
// what was settled stays so.
func reservationsOfTheDead(t *testing.T, open opener) {
	c := newClock()
	b := &access.Book{Store: open(t), Now: c.now}
	g, _ := create(t, b, access.Key{Limits: limit(t, "tokens/total=100")})
	admit := func(id string) (*access.Admission, error) {
		return b.Admit(t.Context(), g, access.Claim{ID: id, Model: "m", Tokens: 60})
	}
	a, err := admit("settled")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is once
		if err := b.Settle(t.Context(), a, access.LogLine{Status: "ok", Input: 40}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admit("lost"); err != nil {
		t.Fatal(err)
	}
	b = &access.Book{Store: open(t), Now: c.now}
	if _, err := admit("too much"); reason(t, err) != access.Reserved {
		t.Errorf("while it is reserved: %v", err)
	}
	c.pass(2 * time.Hour)
	if a, err = admit("later"); err != nil || a.Rooms[0].Left != 0 {
		t.Errorf("later: %+v, %v", a, err)
	}
}

// periods checks that a limit is there again when its period ends, and that a request is counted in the period in which
// it began.
func periods(t *testing.T, open opener) {
	c := newClock()
	b := &access.Book{Store: open(t), Now: c.now}
	g, _ := create(t, b, access.Key{Limits: limit(t, "requests/minute=1", "tokens/day=10")})
	ask := func(id string) error {
		a, err := b.Admit(t.Context(), g, access.Claim{ID: id, Model: "m", Tokens: 5})
		if err == nil {
			c.pass(30 * time.Second)
			err = b.Settle(t.Context(), a, access.LogLine{Status: "ok", Output: 5})
			c.pass(-30 * time.Second)
		}
		return err
	}
	for i, step := range []struct {
		after time.Duration
		want  access.Ground
	}{{0, ""}, {29 * time.Second, access.TooFast}, {time.Second, ""}, {time.Minute, access.Spent}, {12 * time.Hour, ""}} {
		c.pass(step.after)
		if got := reason(t, ask(fmt.Sprint("r", i))); got != step.want {
			t.Errorf("step %d: %q, not %q", i, got, step.want)
		}
	}
	if err := b.Clean(t.Context(), 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := reason(t, ask("after cleaning")); got != access.TooFast {
		t.Errorf("cleaning forgot the present minute: %q", got)
	}
}

// unknownPrices checks that a budget in money and a model without a price do not meet.
func unknownPrices(t *testing.T, open opener) {
	b := &access.Book{Store: open(t), Now: newClock().now}
	if err := b.SetTeam(t.Context(), access.Team{Name: "blue", Limits: limit(t, "money/month=5")}); err != nil {
		t.Fatal(err)
	}
	for team, want := range map[string]access.Ground{"red": "", "blue": access.NoPrice} {
		g, _ := create(t, b, access.Key{Team: team})
		if _, err := b.Admit(t.Context(), g, access.Claim{ID: team, Model: "m", Unpriced: true}); reason(t, err) != want {
			t.Errorf("%s: %v", team, err)
		}
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
			c.pass(8 * time.Hour) // the third is of the next day
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

// noSecrets checks that no store holds a secret.
func noSecrets(t *testing.T, open opener) {
	store := open(t)
	b := &access.Book{Store: store, Now: newClock().now}
	_, first := create(t, b, access.Key{})
	keys, _ := b.Keys(t.Context())
	_, second, err := b.Rotate(t.Context(), keys[0].ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	records, err := store.List(context.WithoutCancel(t.Context()), "key")
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, secret := range []string{first, second} {
		if strings.Contains(string(records[0].Doc), secret[len(keys[0].ID)+1:]) {
			t.Errorf("the store holds a secret: %s", records[0].Doc)
		}
	}
}

// TestDescriptions checks what cannot be the name, the limits or the patterns of a key.
func TestDescriptions(t *testing.T) {
	b := &access.Book{Store: new(access.Memory), Now: newClock().now}
	long := strings.Repeat("x", 300)
	for _, k := range []access.Key{
		{}, {Team: "a\nb"}, {Team: " a"}, {Team: long}, {Team: "a", Name: "\x1b[31m"}, {Team: "a", Name: "x\u2028y"}, {Team: "a", Models: []string{""}},
		{Team: "a", Tools: []string{long}}, {Team: "a", Routes: []string{"a\r\nb"}}, {Team: "a", Expires: noon},
		{Team: "a", Limits: []access.Quota{{Unit: "apples", Per: access.Day}}}, {Team: "a", Limits: []access.Quota{{Unit: access.Money, Per: "week"}}},
		{Team: "a", Limits: limit(t, "money/day=1", "money/day=2")}, {Team: "a", Limits: []access.Quota{{Unit: access.Money, Per: access.Day, Most: -1}}},
		{Team: "a", Limits: []access.Quota{{Unit: access.Money, Per: access.Day, Most: 1 << 62}}},
		// Lists that are there but empty would allow everything.
		{Team: "a", Models: []string{}}, {Team: "a", Tools: []string{}}, {Team: "a", Routes: []string{}}, {Team: "a", Limits: []access.Quota{}},
		{Team: "a", Models: []string{"fast", ""}}, {Team: "a", Models: []string{"fast", " slow"}}, {Team: "a", Tools: []string{" "}},
	} {
		if _, _, err := b.Create(t.Context(), k); err == nil {
			t.Errorf("%+v was made", k)
		}
	}
	for _, s := range []string{"", "money", "money/day", "money/day=", "money/day=-1", "tokens/day=1.5", "money/week=1", "apples/day=1", "tokens/day=99999999999999999999", "money/day=nan"} {
		if l, err := access.ParseQuota(s); err == nil {
			t.Errorf("%q is %v", s, l)
		}
	}
	for s, want := range map[string]string{"money/month=50": "money/month=50.00", "tokens/day=5": "tokens/day=5", "money/total=$0.5": "money/total=0.50"} {
		if l, err := access.ParseQuota(s); err != nil || l.String() != want {
			t.Errorf("%q: %s, %v", s, l, err)
		}
	}
}

// TestPatterns checks what patterns allow.
func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"fast", "fast", true}, {"fast", "faster", false}, {"fast", "Fast", false}, {"claude-*", "claude-", true}, {"claude-*", "claud", false},
		{"*", "", true}, {"*", "any/thing", true}, {"*-mini", "gpt-mini", true}, {"*-mini", "gpt-mini-2", false}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "acb", false},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"**", "x", true}, {"none", "web_search", false},
	} {
		k := access.Key{Models: []string{test.pattern}, Tools: []string{test.pattern}, Routes: []string{test.pattern}}
		if k.AllowsModel(test.name) != test.want || k.AllowsTool(test.name) != test.want || k.AllowsRoute(test.name) != test.want {
			t.Errorf("%q, %q: not %t", test.pattern, test.name, test.want)
		}
	}
	if k := new(access.Key); !k.AllowsModel("x") {
		t.Error("a key without patterns does not allow all")
	}
}

// shaky is a store that fails a few times.
type shaky struct {
	access.Store
	mu    sync.Mutex
	fails int
}

func (s *shaky) Settle(ctx context.Context, e access.LogLine, w []access.Window) error {
	s.mu.Lock()
	s.fails--
	fails := s.fails >= 0
	s.mu.Unlock()
	if fails {
		return &access.StoreError{Err: errors.New("the server is shutting down")}
	}
	return s.Store.Settle(ctx, e, w)
}

// TestSettleAgain checks that what was used is written once the store works again: before the request ends if that is soon, and else
// later, in which case whoever asked is told so and does not wait long.
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

// TestTooMuchIsLate checks that what could not be written is bounded, and that what is lost is said.
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

// TestRotateTwice checks that each secret of a key is good for as long as its own rotation said, that a rotation without grace ends all of
// them, and that there are not many.
func TestRotateTwice(t *testing.T) {
	at := newClock()
	b := &access.Book{Store: new(access.Memory), Now: at.now}
	k, first, err := b.Create(t.Context(), access.Key{Team: "a"})
	if err != nil {
		t.Fatal(err)
	}
	rotate := func(grace time.Duration) string {
		t.Helper()
		_, secret, err := b.Rotate(t.Context(), k.ID, grace)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	good := func(when string, want bool, secrets ...string) {
		t.Helper()
		for i, s := range secrets {
			if _, err := b.Authenticate(t.Context(), s); (err == nil) != want {
				t.Errorf("%s: secret %d: %v", when, i+1, err)
			}
		}
	}
	second := rotate(24 * time.Hour)
	at.pass(time.Hour)
	third := rotate(time.Hour)
	good("within both grace times", true, first, second, third)
	at.pass(time.Hour)
	good("after the second grace time", true, first, third)
	good("after the second grace time", false, second)
	at.pass(22 * time.Hour)
	good("after the first grace time", false, first, second)
	good("after the first grace time", true, third)
	fourth := rotate(time.Hour)
	good("again", true, third, fourth)
	fifth := rotate(0)
	good("without grace", false, first, second, third, fourth)
	good("without grace", true, fifth)
	for range 8 {
		rotate(time.Hour)
	}
	if _, _, err := b.Rotate(t.Context(), k.ID, time.Hour); err == nil || !strings.Contains(err.Error(), "earlier secrets") {
		t.Errorf("a ninth earlier secret: %v", err)
	}
	rotate(0)
}

// TestChange changes a key: what is not allowed changes nothing, and secret, team and earlier secrets stay.
func TestChange(t *testing.T) {
	b := &access.Book{Store: new(access.Memory)}
	k, secret, err := b.Create(t.Context(), access.Key{Team: "red", Models: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Change(t.Context(), k.ID, func(k *access.Key) { k.Team, k.ID, k.Name, k.Models = "blue", "x", "laptop", []string{"b"} })
	if err != nil || got.Team != "red" || got.ID != k.ID || got.Name != "laptop" || !got.AllowsModel("b") || got.AllowsModel("a") {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []func(*access.Key){
		func(k *access.Key) { k.Models = []string{} },
		func(k *access.Key) { k.Expires = time.Now().Add(-time.Hour) },
	} {
		if _, err := b.Change(t.Context(), k.ID, wrong); err == nil {
			t.Error("what cannot be meant is taken over")
		}
	}
	if g, err := b.Authenticate(t.Context(), secret); err != nil || g.Key.Name != "laptop" || !g.Key.AllowsModel("b") {
		t.Errorf("%+v, %v", g, err)
	}
	if got, err := b.Change(t.Context(), k.ID, func(k *access.Key) { k.Models = []string{"*"} }); err != nil || got.Models != nil {
		t.Errorf("a bound that is taken away stays: %+v, %v", got, err)
	}
	if _, _, err := b.Rotate(t.Context(), k.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	if keys, err := b.Keys(t.Context()); err != nil || len(keys[0].EarlierUntil) != 1 {
		t.Errorf("%+v, %v", keys, err)
	}
	if _, err := b.Revoke(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Change(t.Context(), k.ID, func(*access.Key) {}); err == nil {
		t.Error("a revoked key is changed")
	}
	if _, err := b.Change(t.Context(), "tp-nobody", func(*access.Key) {}); !errors.Is(err, access.ErrNotThere) {
		t.Error(err)
	}
}

// TestParseTime checks which times people may write.
func TestParseTime(t *testing.T) {
	for s, want := range map[string]string{
		"2027-01-31": "2027-01-31T00:00:00Z", "2027-01-31T12:00:00+02:00": "2027-01-31T10:00:00Z", "90m": noon.Add(90 * time.Minute).Format(time.RFC3339),
		"2d": noon.Add(48 * time.Hour).Format(time.RFC3339), "": "", "soon": "", "-1h": "", "1000000h": "", "5": "", "99999999d": "", "1h1d": "",
	} {
		got, err := access.ParseTime(s, noon, false)
		if (err != nil) != (want == "") || err == nil && got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}
