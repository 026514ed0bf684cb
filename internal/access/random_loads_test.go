package access_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/access"
)

// flight is an admitted request of a gateway.
type flight struct {
	id      string
	gateway int
	a       *access.Admission
	hold    int64 // its reservation
	uses    int64
	expires time.Time
}

// randomLoads runs random requests over three gateways, with failures and kills, and checks after each step: a request is
// refused only if what was spent, what is reserved and its own estimate exceed the limit; the spend exceeds the limit by at most
// what requests used beyond their reservations and, if budgets are not hard, one request's estimate; and the sum of what
// was settled is the spend.
func randomLoads(t *testing.T, open opener) {
	for seed := range uint64(6) {
		hard := seed%2 == 1
		rng := rand.New(rand.NewPCG(seed, 40))
		c := newClock()
		store, team := open(t), fmt.Sprint("team", seed)
		books := make([]*access.Book, 3)
		for i := range books {
			books[i] = &access.Book{Store: store, Now: c.now}
		}
		const most = 20_000
		g, _ := create(t, books[0], access.Key{Team: team, Limits: limit(t, fmt.Sprintf("tokens/total=%d", most))})
		var flights []flight
		var spent, beyond, largest int64
		refused, admitted := 0, 0
		for step := range 120 {
			switch n := rng.IntN(10); {
			case n < 5: // a request
				estimate := 1 + rng.Int64N(3000)
				var reserved int64
				for _, f := range flights {
					if c.now().Before(f.expires) {
						reserved += f.hold
					}
				}
				at := rng.IntN(len(books))
				a, err := books[at].Admit(t.Context(), g, access.Claim{ID: fmt.Sprintf("s%d-%d", seed, step), Model: "m", Tokens: estimate, Money: catalog.Money(estimate), Hard: hard})
				if why := reason(t, err); why != "" {
					refused++
					if spent+reserved+estimate <= most {
						t.Fatalf("seed %d: refused (%s) with %d spent, %d reserved and an estimate of %d", seed, why, spent, reserved, estimate)
					}
					continue
				}
				admitted++
				if !hard {
					largest = max(largest, estimate)
				}
				uses := rng.Int64N(estimate + 1)
				if rng.IntN(8) == 0 {
					uses = estimate + rng.Int64N(500) // more than it reserved
				}
				flights = append(flights, flight{fmt.Sprintf("s%d-%d", seed, step), at, a, estimate, uses, c.now().Add(time.Minute)})
			case n < 8 && len(flights) > 0: // the end of a request, which may have failed halfway
				i := rng.IntN(len(flights))
				f := flights[i]
				flights = append(flights[:i], flights[i+1:]...)
				line := access.LogLine{Status: "ok", Input: f.uses}
				if rng.IntN(4) == 0 {
					line = access.LogLine{Status: "network", Input: f.uses / 2}
				}
				if err := books[f.gateway].Settle(t.Context(), f.a, line); err != nil {
					t.Fatal(err)
				}
				spent += line.Input
				beyond += max(0, line.Input-f.hold)
			case n == 8: // a gateway is killed, and another takes its place
				dead := rng.IntN(len(books))
				kept := flights[:0]
				for _, f := range flights {
					if f.gateway != dead {
						kept = append(kept, f)
						continue
					}
					beyond += f.hold // unknown to the store after a minute
				}
				flights = kept
				books[dead] = &access.Book{Store: store, Now: c.now}
				c.pass(61 * time.Second) // what it reserved is released
				for i := range flights { // the others renew theirs
					flights[i].expires = c.now().Add(time.Minute)
				}
				var live []string
				for _, f := range flights {
					live = append(live, f.id)
				}
				if err := store.Extend(t.Context(), live, c.now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
			default:
				c.pass(time.Duration(rng.IntN(3)) * time.Second)
			}
			if spent > most+largest+beyond {
				t.Fatalf("seed %d, step %d: %d spent of %d, the largest request may exceed it by %d, %d beyond reservations", seed, step, spent, most, largest, beyond)
			}
		}
		for _, f := range flights {
			if err := books[f.gateway].Settle(t.Context(), f.a, access.LogLine{Status: "ok", Input: f.uses}); err != nil {
				t.Fatal(err)
			}
			spent += f.uses
		}
		sums, err := books[0].UsageOf(t.Context(), access.Filter{access.ByTeam: team}, time.Time{})
		if err != nil || len(sums) != 1 || sums[0].Input != spent || int(sums[0].Requests) > admitted {
			t.Errorf("seed %d: %+v, %d were settled, %v", seed, sums, spent, err)
		}
		if refused == 0 || admitted == 0 {
			t.Errorf("seed %d: %d refused, %d admitted", seed, refused, admitted)
		}
	}
}
