package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestServedDataIsAlone: where a client wants data that match a schema, what the model says before it calls a tool of
// the gateway is no part of the answer, or the client could not read it.
func TestServedDataIsAlone(t *testing.T) {
	for _, upstream := range []string{wire.Chat, wire.Messages, wire.Gemini, "text"} {
		for format := range roots {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s over %s, stream=%t", format, upstream, stream), func(t *testing.T) {
					var n counter
					url, _ := staged(t, script(t, "text Let me look.\ncall look {\"what\":\"one\"}", `text {"city":"Rome"}`), upstream, served(reading("look", "found", &n)))
					req := strictQuestion("m")
					got := ask(t, url, format, req, stream)
					if got.err != nil || strings.TrimSpace(got.Message.Text()) != `{"city":"Rome"}` || n.n() != 1 {
						t.Errorf("%v: %q, %d runs", got.err, got.Message.Text(), n.n())
					}
				})
			}
		}
	}
}

// TestServedTextBesideClientCalls: what the model says beside a call of the client's own comes before that call.
func TestServedTextBesideClientCalls(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			var n counter
			url, _ := staged(t, script(t, "text Let me look.\ncall look {\"what\":\"one\"}\ncall get_weather {\"city\":\"Rome\"}", `text {"city":"Rome"}`), wire.Chat, served(reading("look", "found", &n)))
			req := strictQuestion("m")
			req.Tools = question("m").Tools
			got := ask(t, url, format, req, stream)
			if got.err != nil || got.Message.Text() != "Let me look." || len(got.Message.Calls()) != 1 || n.n() != 1 {
				t.Errorf("%s stream=%t: %v: %q, %d runs, %+v", format, stream, got.err, got.Message.Text(), n.n(), got.Message.Calls())
			}
		}
	}
}

// TestServedCallsThatWereEnded: an answer that its length, or a filter, ended runs nothing. The client does not see
// the call, and is told.
func TestServedCallsThatWereEnded(t *testing.T) {
	for _, upstream := range []string{wire.Chat, wire.Messages, wire.Responses, wire.Gemini, wire.Converse} {
		for _, reason := range []string{"length", "content_filter"} {
			for format := range roots {
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s over %s, %s, stream=%t", format, upstream, reason, stream), func(t *testing.T) {
						var n counter
						url, _ := staged(t, script(t, "text One.\ncall look {\"what\":\"one\"}\nfinish "+reason, "text And on."), upstream, served(reading("look", "found", &n)))
						req := question("m")
						req.Tools = nil
						got := ask(t, url, format, req, stream)
						if n.n() != 0 {
							t.Errorf("the call was run: %v %+v", got.err, got.Response)
						}
						if got.err == nil && got.Message.Text() != "One." {
							t.Errorf("the client sees %q", got.Message.Text())
						}
						told := got.header.Get(gateway.WarningHeader) + fmt.Sprint(got.Warnings)
						if got.err == nil && !stream && !strings.Contains(told, string(llm.RefusedCall)) {
							t.Errorf("the client is told %q", told)
						}
					})
				}
			}
		}
	}
}

// TestReaskedDataIsAlone: what the model says beside a call about which it is asked again is no part of the data either.
func TestReaskedDataIsAlone(t *testing.T) {
	model := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if len(results(req)) > 0 {
				_ = yield(llm.TextDelta{Text: `{"city":`}, nil) && yield(llm.TextDelta{Text: `"Rome"}`}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
				return
			}
			_ = yield(llm.TextDelta{Text: "Let me see. "}, nil) && yield(llm.PartEnd{}, nil) && yield(llm.CallStart{ID: "c1", Name: "get_weather"}, nil) &&
				yield(llm.Call{ID: "c1", Name: "get_weather", Args: json.RawMessage(`{"city":7}`)}, nil) && yield(llm.Finish{Reason: llm.ToolCalls}, nil)
		}
	})
	url := reaskingGateway(t, model, gateway.Reask)
	for up := range roots {
		for format := range roots {
			for _, stream := range []bool{false, true} {
				req := strictQuestion(up)
				req.Tools, req.Output.Strict = question(up).Tools, false
				got := ask(t, url, format, req, stream)
				if got.err != nil {
					t.Errorf("%s over %s, stream=%t: %v", format, up, stream, got.err)
				} else if got.Message.Text() != `{"city":"Rome"}` || len(got.Message.Calls()) > 0 {
					t.Errorf("%s over %s, stream=%t: %q", format, up, stream, got.Message.Text())
				}
			}
		}
	}
}

// TestServedDataAfterHostedCalls: a call that the vendor ran does not make what the model says after it part of the data.
func TestServedDataAfterHostedCalls(t *testing.T) {
	for _, format := range []string{wire.Chat, wire.Messages, wire.Responses} {
		for _, stream := range []bool{false, true} {
			var n counter
			rounds := [][]llm.Event{
				{llm.Start{ID: "a"}, llm.CallStart{ID: "h1", Name: "web_search"}, llm.Call{ID: "h1", Name: "web_search", Args: json.RawMessage(`{"query":"x"}`), Hosted: true},
					llm.TextDelta{Text: "Let me look."}, llm.PartEnd{}, llm.CallStart{ID: "c1", Name: "look"},
					llm.Call{ID: "c1", Name: "look", Args: json.RawMessage(`{"what":"x"}`)}, llm.Finish{Reason: llm.ToolCalls}},
				{llm.Start{ID: "b"}, llm.TextDelta{Text: `{"city":"Rome"}`}, llm.Finish{Reason: llm.Stop}},
			}
			model := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
				return func(yield func(llm.Event, error) bool) {
					for _, ev := range rounds[min(n.n(), 1)] {
						if !yield(ev, nil) {
							return
						}
					}
				}
			})
			route := to("m", "up/model")
			route.Tools = served(reading("look", "found", &n))
			url := serve(t, gateway.Setup{Open: func(string, gateway.Way) (llm.Model, error) { return model, nil }, Routes: []gateway.ModelRoute{route}})
			got := ask(t, url, format, strictQuestion("m"), stream)
			if got.err != nil {
				t.Errorf("%s, stream=%t: %v", format, stream, got.err)
			} else if strings.TrimSpace(got.Message.Text()) != `{"city":"Rome"}` || n.n() != 1 {
				t.Errorf("%s, stream=%t: %q, %d runs", format, stream, got.Message.Text(), n.n())
			}
		}
	}
}
