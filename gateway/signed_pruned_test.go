package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestSignedTurnsOfPrunedHistories: agents shorten old results, drop old turns and mend the question. An answer whose id nobody gives twice
// gets back what was signed in it all the same.
func TestSignedTurnsOfPrunedHistories(t *testing.T) {
	prune := func(m *[]llm.Message) {
		(*m)[2] = llm.Results(llm.Result{CallID: (*m)[1].Calls()[0].ID, Name: "get_weather", Parts: []llm.Part{llm.Text{Text: "[pruned]"}}})
	}
	for name, change := range map[string]func(*[]llm.Message){
		"nothing":              func(*[]llm.Message) {},
		"result shortened":     prune,
		"turn dropped":         func(m *[]llm.Message) { *m = append((*m)[:1:1], (*m)[3:]...) },
		"question edited":      func(m *[]llm.Message) { (*m)[0] = llm.User("Where is Paris?") },
		"summary in its place": func(m *[]llm.Message) { *m = append([]llm.Message{llm.User("So far: Rome is sunny.")}, (*m)[3:]...) },
	} {
		for _, up := range []string{wire.Messages, wire.Responses, wire.Gemini} {
			for _, client := range []string{wire.Chat, wire.Converse} {
				t.Run(name+"/"+up+"/"+client, func(t *testing.T) {
					v, url := signingGateway(t, up, nil)
					c := newTalk(t, v, url, client, false)
					c.ask(thought("one", "U0lHTkFUVVJFLTE="), callOf("toolu_01A09q90qw90lq917835lq9", "Rome"))
					c.goOn(thought("two", "U0lHTkFUVVJFLTI="), callOf("toolu_01B19q90qw90lq917835lq0", "Oslo"))
					c.req.Messages = append(c.req.Messages, c.last.Message, sunny(c.last.Message))
					change(&c.req.Messages)
					got := c.ask(theEnd)
					if !strings.Contains(string(v.asked), "U0lHTkFUVVJFLTI=") {
						t.Errorf("the vendor is sent %s", v.asked)
					}
					if warned := got.header.Values(gateway.WarningHeader); strings.Contains(fmt.Sprint(warned), "signed") {
						t.Errorf("the client is told %q", warned)
					}
				})
			}
		}
	}
}

// TestUnknownSignedTurns: if nothing is known of the calls that a model goes on from, the client is told. Answers to older questions need nothing.
func TestUnknownSignedTurns(t *testing.T) {
	for _, test := range []struct {
		name string
		add  []llm.Message
		want bool
	}{
		{"the last calls", nil, true},
		{"calls of an older question", []llm.Message{llm.Assistant(llm.Text{Text: "Sunny."}), llm.User("Thanks. And in Oslo?")}, false},
	} {
		for _, up := range []string{wire.Messages, wire.Responses, wire.Gemini} {
			t.Run(test.name+"/"+up, func(t *testing.T) {
				v, url := signingGateway(t, up, nil)
				c := newTalk(t, v, url, wire.Chat, false)
				call := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "call_abc", Name: "get_weather", Args: []byte(`{"city":"Rome"}`)}}}
				c.req.Messages = append(append(c.req.Messages, call, sunny(call)), test.add...)
				warned := strings.Contains(fmt.Sprint(c.ask(theEnd).header.Values(gateway.WarningHeader)), "may have signed")
				if warned != test.want {
					t.Errorf("warned = %t, want %t", warned, test.want)
				}
			})
		}
	}
}
