package access_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/access"
)

// alerts checks that each part of a limit is reported once, by one of two gateways, when a request has used it up, and that
// limits per minute are not reported.
func alerts(t *testing.T, open opener) {
	store, c := open(t), newClock()
	var mu sync.Mutex
	var got []string
	books := make([]*access.Book, 2)
	for i := range books {
		books[i] = &access.Book{Store: store, Now: c.now, AlertAt: []int{50, 80, 100}, Alert: func(a access.Alert) {
			mu.Lock()
			defer mu.Unlock()
			who := a.Team
			if a.Key != "" {
				who = "key"
			}
			got = append(got, fmt.Sprintf("%s %s %d%%", who, a.Limit, a.Percent))
		}}
	}
	if err := books[0].SetTeam(t.Context(), access.Team{Name: "red", Limits: limit(t, "money/month=0.1")}); err != nil {
		t.Fatal(err)
	}
	g, _ := create(t, books[0], access.Key{Limits: limit(t, "tokens/day=1000", "tokens/minute=1", "requests/day=40")})
	g.Key.Limits[1].Most = 1 << 40 // no request is refused
	n := 0
	use := func(requests int, tokens int64, money catalog.Money) {
		var wg sync.WaitGroup
		for range requests {
			n++
			id, b := fmt.Sprint("r", n), books[n%2]
			wg.Go(func() {
				a, err := b.Admit(t.Context(), g, access.Claim{ID: id, Model: "m", Tokens: 1})
				if err == nil {
					err = b.Settle(t.Context(), a, access.LogLine{Status: "ok", Input: tokens, Money: money})
				}
				if err == nil {
					err = b.Settle(t.Context(), a, access.LogLine{Status: "ok", Input: tokens, Money: money}) // as after a lost answer of the database
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	check := func(what string, want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		got = nil
	}
	use(9, 50, 0)
	check("450 tokens")
	use(9, 50, 0)
	check("900 tokens", "key tokens/day=1000 50%", "key tokens/day=1000 80%")
	c.pass(24 * time.Hour)
	use(1, 990, 0)
	check("a new day, two parts at once", "key tokens/day=1000 80%")
	use(1, 10, 0)
	check("the exact limit", "key tokens/day=1000 100%")
	c.pass(24 * time.Hour)
	use(19, 0, 0)
	check("19 requests")
	use(1, 0, 0)
	check("20 requests", "key requests/day=40 50%")
	use(1, 0, catalog.Dollar/10)
	check("the whole budget of the team at once", "red money/month=0.10 100%")
}

// TestAlertsAreReadable checks the text and the JSON of an alert.
func TestAlertsAreReadable(t *testing.T) {
	a := access.Alert{At: noon, Team: "red", Key: "tp-abc", Limit: limit(t, "money/month=50")[0], Percent: 80, Used: int64(40 * catalog.Dollar), Resets: noon.AddDate(0, 0, 14)}
	doc, err := json.Marshal(a)
	if want := `The key tp-abc of team red has used 80 % of its limit money/month=50.00: 40.00. The period ends 2026-11-30T12:00:30Z.`; err != nil || a.String() != want || !strings.Contains(string(doc), `"text":"`+want+`"`) {
		t.Error(a.String(), string(doc), err)
	}
	a.Key, a.Resets = "", time.Time{}
	if want := `The team red has used 80 % of its limit money/month=50.00: 40.00.`; a.String() != want {
		t.Error(a.String())
	}
}
