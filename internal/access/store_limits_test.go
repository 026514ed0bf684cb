package access_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/access"
)

// rounds checks that a continued request is limited by its own usage and by the reservations of others, that it counts
// once, and that its new reservation replaces the old one.
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
	for spent := int64(10); spent < 60; spent += 10 { // each replaces the one before
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
	three := admit("three", 1) // no reservation is left, and there were two requests
	if err := b.Renew(ctx, three, access.Count{Tokens: 59}, access.Claim{Tokens: 1}); err != nil {
		t.Errorf("%s: %v", k.ID, err)
	}
	if err := b.Renew(ctx, three, access.Count{Tokens: 59}, access.Claim{Tokens: 1, Hard: true}); err != nil {
		t.Error("a hard part that just fits:", err)
	}
	if err := b.Renew(ctx, three, access.Count{Tokens: 59}, access.Claim{Tokens: 2, Hard: true}); reason(t, err) != access.Spent {
		t.Error("a hard part that exceeds the limit:", err)
	}
	if err := b.Renew(ctx, three, access.Count{Tokens: 60}, access.Claim{Tokens: 1}); reason(t, err) != access.Spent {
		t.Errorf("%v", err)
	}
}

// reserved checks that a budget counts the most that running requests may use, and a limit per minute the usual amount.
// A request refused because of reservations is told to retry soon, not at the end of the period. Unused reservations
// become available again when their requests end.
func reserved(t *testing.T, open opener) {
	b := &access.Book{Store: open(t), Now: newClock().now}
	ctx := t.Context()
	for _, test := range []struct {
		limit  string
		claim  access.Claim // of two requests
		want   access.Ground
		within time.Duration // longest retry time for the client
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

// limits checks each unit for key and team, and the message to a client that reaches a limit.
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

// together checks that concurrent requests see each other's reservations.
func together(t *testing.T, open opener) {
	b := &access.Book{Store: open(t), Now: newClock().now}
	g, _ := create(t, b, access.Key{Limits: limit(t, "money/day=1")})
	if n := flood(t, []*access.Book{b}, g); n != 10 {
		t.Errorf("%d requests of 10 cents were let in by a dollar", n)
	}
}

// flood sends 40 concurrent requests of 10 cents through all books, and returns how many were admitted. It does not
// settle them.
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

// twoGateways checks that gateways with one store share keys and limits.
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

// reservationsOfTheDead checks that the reservations of a dead gateway expire, and that its settled usage stays.
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
	for range 2 { // settling twice counts once
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

// periods checks that a limit resets when its period ends, and that a request counts in the period in which it began.
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

// unknownPrices checks that a key with a budget cannot use a model without a price.
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
