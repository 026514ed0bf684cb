package access_test

import (
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

// TestShares checks that the usage of several upstreams in one request is summed up for each of them, that the request
// counts once, for the upstream that answered, and that the log has it in one line.
func TestShares(t *testing.T) {
	for name, setup := range stores {
		t.Run(name, func(t *testing.T) {
			b := &access.Book{Store: setup(t)(t)(t)}
			g, _ := create(t, b, access.Key{})
			line := access.LogLine{Status: "ok", Upstream: "b", Input: 35, Output: 9, Money: 70, Estimated: true,
				Shares: []access.Share{{Upstream: "a", Input: 30, Output: 2, Money: 60, Estimated: true}, {Upstream: "b", Input: 5, Output: 7, Money: 10}}}
			for _, id := range []string{"r1", "r2"} {
				a, err := b.Admit(t.Context(), g, access.Claim{ID: id, Model: "fast"})
				if err == nil {
					err = b.Settle(t.Context(), a, line)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, test := range []struct {
				by   access.Grouping
				want []access.Spend
			}{
				{access.ByUpstream, []access.Spend{{Upstream: "a", Input: 60, Output: 4, Money: 120, Estimated: 2}, {Upstream: "b", Requests: 2, Input: 10, Output: 14, Money: 20}}},
				{access.ByTeam, []access.Spend{{Team: "red", Requests: 2, Input: 70, Output: 18, Money: 140, Estimated: 2}}},
			} {
				got, err := b.Usage(t.Context(), time.Time{}, test.by)
				if err != nil || len(got) != len(test.want) {
					t.Fatalf("%+v %v", got, err)
				}
				for i := range got {
					if got[i] != test.want[i] {
						t.Errorf("by %s: %+v, not %+v", test.by, got[i], test.want[i])
					}
				}
			}
			log, err := b.Log(t.Context(), 9)
			if err != nil || len(log) != 2 || log[0].Upstream != "b" || log[0].Input != 35 || log[0].Money != 70 || log[0].Shares != nil {
				t.Errorf("%+v %v", log, err)
			}
		})
	}
}
