package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// strictAnswers are what models say where {"city": "…"} is asked for.
var strictAnswers = []struct {
	name, text string
	reason     llm.Reason
}{
	{"prose", "It is sunny in Paris.", llm.Stop},
	{"member", `{"town":"Paris"}`, llm.Stop},
	{"kind", `{"city":7}`, llm.Stop},
	{"more", `{"city":"Paris","mood":"sunny"}`, llm.Stop},
	{"half", `{"city":"Par`, llm.Stop},
	{"cut", `{"city":"Par`, llm.Length},
	{"right", `{"city":"Paris"}`, llm.Stop},
}

// TestWrongAnswersToStrictSchemas asks in every format over every format, streamed and not, for an answer that matches a
// strict schema, of a model that gives another: the client gets an error, and never an answer that ends well.
func TestWrongAnswersToStrictSchemas(t *testing.T) {
	c := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.Retry{Attempts: -1}, Route: provider.Native, StrictByCheck: true}
	var routes []gateway.ModelRoute
	for _, a := range strictAnswers {
		model := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				if yield(llm.TextDelta{Text: a.text}, nil) {
					yield(llm.Finish{Reason: a.reason}, nil)
				}
			}
		})
		server := httptest.NewServer(&sim.Server{Model: model, Unknown: "sim/native"})
		t.Cleanup(server.Close)
		for format, root := range roots {
			vendor := a.name + "-" + format
			c.Vendors[vendor] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
			unchecked := to("off-"+vendor, vendor+"/sim/native")
			unchecked.Check = gateway.CheckOff // of calls: answers are checked all the same
			routes = append(routes, to("plain-"+vendor, vendor+"/sim/native"), unchecked)
		}
	}
	url := serve(t, gateway.Setup{Open: opening(c), Routes: routes})
	for _, route := range []string{"plain-", "off-"} {
		for _, a := range strictAnswers {
			for from := range roots {
				for up := range roots {
					for _, stream := range []bool{false, true} {
						got := ask(t, url, from, strictQuestion(route+a.name+"-"+up), stream)
						if problem := strictProblem(got, a.name, a.text, from, up, stream); problem != "" {
							t.Errorf("%s%s, %s over %s, stream=%t: status %d, %v: %s", route, a.name, from, up, stream, got.status, got.err, problem)
						}
					}
				}
			}
		}
	}
}

func strictQuestion(model string) *llm.Request {
	return &llm.Request{Model: model, MaxTokens: 2048, Messages: []llm.Message{llm.User("Which city?")}, Output: &llm.OutputFormat{
		Name: "place", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
	}}
}

// strictProblem says what is wrong with what a client got: a right answer has to arrive, one that the model's limit cut off
// says so, and any other is an error, by its status or in a stream that has no end then.
func strictProblem(got reply, name, text, from, up string, stream bool) string {
	refused := 502
	if from == wire.Converse {
		refused = 424 // the vendor's word for a model that failed
	}
	// A host that holds models to a schema writes whole values, so half of one was cut off, whatever it says.
	cut := name == "cut" || name == "half" && up == wire.Ollama
	switch {
	case name == "right" && (got.err != nil || got.Message.Text() != text || got.Finish.Reason != llm.Stop):
		return "the right answer did not arrive"
	case cut && (got.err != nil || got.Finish.Reason != llm.Length):
		return "it does not say that it was cut off"
	case name == "right", cut:
	case got.err == nil:
		return fmt.Sprintf("it ended well: %q", got.Message.Text())
	case got.status != refused && (!stream || got.status != 200):
		return "another status"
	case got.status == 200 && got.Finish.Reason != "":
		return fmt.Sprintf("the stream has an end: %+v", got.Finish)
	}
	return ""
}
