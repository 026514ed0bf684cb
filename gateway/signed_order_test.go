package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestThinkingBetweenTexts: a model that thinks again after its first words has said so in that order, and is told so, whether the turn
// holds a call or not.
func TestThinkingBetweenTexts(t *testing.T) {
	turn := []block{thought("one", "c2lnbmVkMQ=="), speak("First this. "), thought("two", "c2lnbmVkMg=="), speak("Then that. "), callOf("k1", "Rome")}
	want := []string{"think one", "text First this.", "think two", "text Then that.", `call {"city":"Rome"}`}
	for _, up := range []string{wire.Messages, wire.Responses, wire.Converse} {
		for client := range roots {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/stream=%t", up, client, stream), func(t *testing.T) {
					v, url := signingGateway(t, up, nil)
					c := newTalk(t, v, url, client, stream)
					c.ask(turn...)
					c.goOn(theEnd)
					if got := v.parts(t); !slices.Equal(got, want) {
						t.Errorf("got  %q\nwant %q", got, want)
					}

					c = newTalk(t, v, url, client, stream)
					c.ask(turn[:4]...)
					c.req.Messages = append(c.req.Messages, c.last.Message, llm.User("Go on."))
					c.ask(theEnd)
					got, whole := v.parts(t), want[:4]
					if up != client { // without a call, what was signed is not kept
						got, whole = strings.Fields(strings.ReplaceAll(strings.Join(got, " "), "text ", "")), []string{"First", "this.", "Then", "that."}
					}
					if !slices.Equal(got, whole) {
						t.Errorf("without a call: got  %q\nwant %q", got, whole)
					}
				})
			}
		}
	}
}
