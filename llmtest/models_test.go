package llmtest_test

import (
	"context"
	"iter"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/llmtest"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
)

// simulated opens models at a simulator that speaks every format.
func simulated(t *testing.T, behind llm.Model, id func(url string) string, change func(*provider.Client, *catalog.Model)) func(*testing.T) llm.Model {
	server := httptest.NewServer(&sim.Server{Model: behind})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return func(t *testing.T) llm.Model {
		name := id(server.URL)
		info := catalog.Default().Lookup(name)
		info.NativeTools = catalog.Answer{Support: catalog.Yes}
		c := &provider.Client{HTTP: server.Client(), Retry: provider.RetryPolicy{Attempts: 1}}
		change(c, &info)
		c.Catalog = catalog.Default().With(info)
		m, err := c.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// Models of vendors, in every format they speak, streamed and whole.
func TestVendorModels(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	for _, h := range []struct{ format, vendor, root string }{
		{"chat", "openai", "/v1"}, {"responses", "openai", "/v1"}, {"messages", "anthropic", "/v1"}, {"gemini", "gemini", "/v1beta"}, {"ollama", "ollama", "/api"}, {"converse", "bedrock", ""},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(h.format+map[bool]string{false: " streamed", true: " whole"}[whole], func(t *testing.T) {
				llmtest.TestModel(t, simulated(t, nil, func(url string) string { return h.vendor + "+" + url + h.root + "#sim/native" },
					func(c *provider.Client, info *catalog.Model) { c.Whole, info.Wire = whole, h.format }))
			})
		}
	}
}

// Models that are taught their tools in a prompt.
func TestEmulatedModels(t *testing.T) {
	for _, route := range []provider.RouteKind{provider.Prompted, provider.Constrained} {
		t.Run(string(route), func(t *testing.T) {
			llmtest.TestModel(t, simulated(t, llm.ModelFunc(taught), func(url string) string { return url + "/v1#sim/native" },
				func(c *provider.Client, info *catalog.Model) {
					c.Route, c.Style = route, "json"
					if route == provider.Constrained {
						info.Constrain = "response_format"
					}
				}))
		})
	}
	t.Run("around an own model", func(t *testing.T) {
		llmtest.TestModel(t, func(*testing.T) llm.Model {
			return emulate.Emulation{Style: "json", Context: 32_000}.Around(llm.ModelFunc(taught))
		})
	})
}

// taught is a model that knows text only. It makes the call that its prompt
// teaches, in the words the prompt teaches, and talks once it has a result.
func taught(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	said := req.System
	for _, m := range req.Messages {
		said += "\n" + m.Text()
	}
	answer := "It is cold."
	last := req.Messages[len(req.Messages)-1].Text()
	switch {
	case req.Output != nil && strings.Contains(string(req.Output.Schema), "get_weather"):
		answer = `{"type":"call","calls":[{"tool":"get_weather","arguments":{"city":"Rome"}}]}`
	case req.Output != nil:
		answer = `{"type":"text","text":"It is cold."}`
	case strings.Contains(said, "get_weather") && strings.Contains(last, "weather"):
		answer = "Let me look.\n```json\n{\"tool\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n```"
	}
	return func(yield func(llm.Event, error) bool) {
		for word := range strings.SplitAfterSeq(answer, " ") {
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if !yield(llm.TextDelta{Text: word}, nil) {
				return
			}
		}
		yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

// Models that are not there, and models around models.
func TestOtherModels(t *testing.T) {
	for name, m := range map[string]llm.Model{
		"offline":  sim.Offline{},
		"fallback": refine.Fallback(sim.Offline{}, parrot{}),
	} {
		t.Run(name, func(t *testing.T) { llmtest.TestModel(t, func(*testing.T) llm.Model { return m }) })
	}
}

// brokenModels each break one promise.
var brokenModels = map[string]struct {
	promise string
	model   func(context.Context, *llm.Request, []llm.Event, func(llm.Event, error) bool)
}{
	"no finish": {"a stream ends with one finish or one error", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		pass(evs[:len(evs)-1], yield)
	}},
	"text after the finish": {"a stream ends with one finish or one error", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		pass(append(slices.Clip(evs), llm.TextDelta{Text: "late"}), yield)
	}},
	"two starts": {"a stream ends with one finish or one error", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		pass(append([]llm.Event{llm.Start{ID: "a"}, llm.Start{ID: "b"}}, evs...), yield)
	}},
	"no finish reason": {"a stream ends with one finish or one error", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		pass(append(slices.Clone(evs[:len(evs)-1]), llm.Finish{}), yield)
	}},
	"a finish reason of its own": {"a stream ends with one finish or one error", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		pass(append(slices.Clone(evs[:len(evs)-1]), llm.Finish{Reason: "end_turn"}), yield)
	}},
	"a finish with calls that are not there": {"a stream ends with one finish or one error", func(_ context.Context, _ *llm.Request, _ []llm.Event, yield func(llm.Event, error) bool) {
		pass([]llm.Event{llm.TextDelta{Text: "hi"}, llm.Finish{Reason: llm.ToolCalls}}, yield)
	}},
	"an event after the error": {"a cancelled context ends the answer", func(ctx context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		for i, ev := range evs {
			if ctx.Err() == nil {
				if !yield(ev, nil) {
					return
				}
				continue
			}
			if yield(nil, &llm.Error{Op: "late", Kind: llm.Canceled, Err: ctx.Err()}) && i > 0 {
				yield(evs[len(evs)-1], nil)
			}
			return
		}
	}},
	"a call marked as cut off": {"a call is what its pieces were", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		pass(withProvenance(evs, llm.Provenance{Truncated: true}), yield)
	}},
	"a call completed after a cut": {"a call is what its pieces were", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		pass(withProvenance(evs, llm.Provenance{Repairs: []llm.Repair{{Rule: "cut", Class: llm.Truncation}}}), yield)
	}},
	"other pieces": {"a call is what its pieces were", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		if len(evs) > 2 {
			evs = slices.Insert(slices.Clone(evs), 2, llm.Event(llm.CallDelta{ID: evs[0].(llm.CallStart).ID, Args: " "}))
		}
		pass(evs, yield)
	}},
	"one id for all": {"ids of calls are unique in a conversation", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		for i, ev := range evs {
			if c, ok := ev.(llm.Call); ok {
				c.ID = "id"
				evs = []llm.Event{c, evs[i+1]}
			}
		}
		pass(evs, yield)
	}},
	"ignores the choice": {"what must not be called is not called", func(_ context.Context, req *llm.Request, _ []llm.Event, yield func(llm.Event, error) bool) {
		free := req.Clone()
		free.Choice = llm.ToolChoice{}
		pass(parrot{}.answer(free), yield)
	}},
	"goes on": {"no event comes after the caller stopped", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		for _, ev := range evs {
			yield(ev, nil)
		}
	}},
	"ignores the context": {"a cancelled context ends the answer", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		pass(evs, yield)
	}},
	"leaves a goroutine": {"nothing runs on after the end", func(_ context.Context, _ *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		go func() { select {} }()
		pass(evs, yield)
	}},
	"changes the request": {"requests are not changed", func(_ context.Context, req *llm.Request, evs []llm.Event, yield func(llm.Event, error) bool) {
		req.System = "changed"
		pass(evs, yield)
	}},
}

// withProvenance returns events whose calls came about in that way.
func withProvenance(evs []llm.Event, p llm.Provenance) []llm.Event {
	evs = slices.Clone(evs)
	for i, ev := range evs {
		if c, ok := ev.(llm.Call); ok {
			c.Provenance = p
			evs[i] = c
		}
	}
	return evs
}

func pass(evs []llm.Event, yield func(llm.Event, error) bool) {
	for _, ev := range evs {
		if !yield(ev, nil) {
			return
		}
	}
}

func TestModelFindsDefects(t *testing.T) {
	for name, broken := range brokenModels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, "TestBrokenModel", name, broken.promise)
		})
	}
}

// TestBrokenModel fails if a defect is requested.
func TestBrokenModel(t *testing.T) {
	broken, ok := brokenModels[os.Getenv(defect)]
	if !ok {
		return
	}
	llmtest.TestModel(t, func(*testing.T) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) { broken.model(ctx, req, parrot{}.answer(req), yield) }
		})
	})
}
