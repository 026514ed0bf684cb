package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// An upstream that no longer agrees with its first answers is skipped while there is another, and its agreement is a
// metric. Without a threshold it is only measured.
func TestDriftedUpstreamIsSkipped(t *testing.T) {
	t.Parallel()
	open := func(id string, _ gateway.Way) (llm.Model, error) { return says(id), nil }
	for _, test := range []struct {
		name    string
		below   float64
		share   float64
		answers string
	}{{"below the threshold", 0.9, 0.5, "spare"}, {"above the threshold", 0.5, 0.9, "watched"}, {"without a threshold", 0, 0.1, "watched"}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			agreement := func(_ context.Context, id string, _ llm.Model, maxAge time.Duration) (float64, error) {
				if id != "watched" || maxAge >= time.Hour {
					t.Errorf("%s, %v", id, maxAge)
				}
				return test.share, nil
			}
			r := gateway.ModelRoute{Model: "m", Upstreams: []gateway.Upstream{{Model: "watched", DriftEvery: time.Hour, DriftBelow: test.below}, {Model: "spare", Priority: 1}}}
			_, url := live(t, gateway.Setup{Open: open, Agreement: agreement, Routes: []gateway.ModelRoute{r}})
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if _, text := get(t, url+"/metrics"); strings.Contains(text, `toolpost_upstream_agreement{route="m",upstream="watched"} 0.`) {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the agreement is never measured")
				}
			}
			// The metric is set before the state of the upstream, in the same check.
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
				got := ask(t, url, wire.Chat, &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi")}}, false)
				if got.header.Get(exchange.UpstreamHeader) == test.answers {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%s answers, want %s", got.header.Get(exchange.UpstreamHeader), test.answers)
				}
			}
		})
	}
}

func TestDriftSettingsAreChecked(t *testing.T) {
	t.Parallel()
	open := func(id string, _ gateway.Way) (llm.Model, error) { return says(id), nil }
	agreement := func(context.Context, string, llm.Model, time.Duration) (float64, error) {
		return 0, errors.New("not asked")
	}
	for problem, u := range map[string]gateway.Upstream{
		"30s is less than 1m0s":         {Model: "a", DriftEvery: 30 * time.Second},
		"is not a share from 0 to 1":    {Model: "a", DriftEvery: time.Hour, DriftBelow: 90},
		"it needs drift_every":          {Model: "a", DriftBelow: 0.9},
		"drift needs a name without *":  {Model: "a/*", DriftEvery: time.Hour},
		"-1h0m0s is less than 1m0s":     {Model: "a", DriftEvery: -time.Hour},
		"NaN is not a share from 0 to ": {Model: "a", DriftEvery: time.Hour, DriftBelow: nan()},
	} {
		_, err := gateway.New(gateway.Setup{Open: open, Agreement: agreement, Routes: []gateway.ModelRoute{{Model: "*", Upstreams: []gateway.Upstream{u}}}})
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v, want %q", err, problem)
		}
	}
}

func nan() float64 { var zero float64; return zero / zero }
