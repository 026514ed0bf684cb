package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// block is a part of an answer of a vendor that signs: "think" with its signature, "text", or "call" of get_weather
// with its id and city. For Gemini, a signature belongs to the next call.
type block struct{ kind, text, sign string }

func thought(text, sign string) block { return block{"think", text, sign} }

func speak(text string) block { return block{kind: "text", text: text} }

func callOf(id, city string) block { return block{"call", city, id} }

// signedDocument returns an answer in the form of the format's vendors.
func signedDocument(format string, blocks []block) string {
	var list []string
	add := func(form string, args ...any) { list = append(list, fmt.Sprintf(form, args...)) }
	sign := ""
	for i, b := range blocks {
		switch format + " " + b.kind {
		case "messages think":
			add(`{"type":"thinking","thinking":%q,"signature":%q}`, b.text, b.sign)
		case "messages text":
			add(`{"type":"text","text":%q}`, b.text)
		case "messages call":
			add(`{"type":"tool_use","id":%q,"name":"get_weather","input":{"city":%q}}`, b.sign, b.text)
		case "converse think":
			add(`{"reasoningContent":{"reasoningText":{"text":%q,"signature":%q}}}`, b.text, b.sign)
		case "converse text", "gemini text":
			add(`{"text":%q}`, b.text)
		case "converse call":
			add(`{"toolUse":{"toolUseId":%q,"name":"get_weather","input":{"city":%q}}}`, b.sign, b.text)
		case "responses think":
			add(`{"type":"reasoning","id":"rs_%d","summary":[{"type":"summary_text","text":%q}],"encrypted_content":%q}`, i, b.text, b.sign)
		case "responses text":
			add(`{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[]}]}`, i, b.text)
		case "responses call":
			add(`{"type":"function_call","id":"fc_%d","call_id":%q,"name":"get_weather","arguments":%q,"status":"completed"}`, i, b.sign, fmt.Sprintf(`{"city":%q}`, b.text))
		case "gemini think":
			sign = b.sign
			add(`{"text":%q,"thought":true}`, b.text)
		case "gemini call":
			add(`{"functionCall":{"name":"get_weather","args":{"city":%q}},"thoughtSignature":%q}`, b.text, sign)
		}
	}
	all := strings.Join(list, ",")
	switch format {
	case wire.Messages:
		return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + all + `],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`
	case wire.Converse:
		return `{"output":{"message":{"role":"assistant","content":[` + all + `]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`
	case wire.Gemini:
		return `{"candidates":[{"content":{"role":"model","parts":[` + all + `]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`
	}
	return `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[` + all + `],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`
}

// signingVendor is an upstream with a given answer that keeps the last request.
type signingVendor struct {
	mu     sync.Mutex
	format string
	says   []block
	asked  []byte
}

func (v *signingVendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked, _ = io.ReadAll(r.Body)
	codec, _ := wire.For(v.format)
	doc := []byte(signedDocument(v.format, v.says))
	var about struct{ Stream bool }
	_ = json.Unmarshal(v.asked, &about)
	if !about.Stream && !strings.Contains(strings.ToLower(r.URL.Path), "stream") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc)
		return
	}
	w.Header().Set("Content-Type", codec.Properties().StreamType)
	answer, err := codec.DecodeResponse(doc)
	if err != nil {
		panic(err)
	}
	out := codec.NewStream(w, format.Head{})
	for _, ev := range answer.Events() {
		if c, ok := ev.(llm.Call); ok && v.format == wire.Gemini {
			c.ID = "" // like Google
			ev = c
		}
		_ = out.Write(ev)
	}
}

// parts returns a summary of the model's messages in the last request.
func (v *signingVendor) parts(t *testing.T) (list []string) {
	t.Helper()
	codec, _ := wire.For(v.format)
	req, _, err := codec.DecodeRequest(v.asked)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Thinking:
				list = append(list, "think "+p.Text)
			case llm.Text:
				if m.Role == llm.RoleAssistant {
					list = append(list, "text "+strings.TrimSpace(p.Text))
				}
			case llm.Call:
				list = append(list, "call "+string(p.Args))
			}
		}
	}
	return list
}

// signingGateway starts a gateway for such a vendor.
func signingGateway(t *testing.T, format string, store state.Store) (*signingVendor, string) {
	t.Helper()
	v := &signingVendor{format: format}
	up := httptest.NewServer(v)
	t.Cleanup(up.Close)
	names := map[string]string{wire.Messages: "claude-sonnet-4-5", wire.Responses: "gpt-5", wire.Gemini: "gemini-2.5-pro", wire.Converse: "anthropic.claude-sonnet-4-5-20250929-v1:0"}
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + roots[format], Wires: []string{format}}}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	return v, serve(t, gateway.Setup{Open: opening(client), State: store, Routes: []gateway.ModelRoute{to("m", "up/"+names[format])}})
}

// talk is one client's conversation.
type talk struct {
	t           *testing.T
	v           *signingVendor
	url, format string
	stream      bool
	req         *llm.Request
	last        reply
}

func newTalk(t *testing.T, v *signingVendor, url, format string, stream bool) *talk {
	return &talk{t: t, v: v, url: url, format: format, stream: stream, req: question("m")}
}

// ask sends a request that is answered with blocks.
func (c *talk) ask(blocks ...block) reply {
	c.t.Helper()
	c.v.says = blocks
	c.last = ask(c.t, c.url, c.format, c.req, c.stream)
	if c.last.err != nil {
		c.t.Fatal(c.last.err)
	}
	return c.last
}

// goOn sends the answer back with results of its calls.
func (c *talk) goOn(blocks ...block) reply {
	c.t.Helper()
	c.req.Messages = append(c.req.Messages, c.last.Message, sunny(c.last.Message))
	return c.ask(blocks...)
}

func sunny(m llm.Message) llm.Message {
	var list []llm.Result
	for _, call := range m.Calls() {
		list = append(list, llm.Result{CallID: call.ID, Name: call.Name, Parts: []llm.Part{llm.Text{Text: "sunny"}}})
	}
	return llm.Results(list...)
}

var theEnd = speak("That is all.")

// TestSignaturesStayWithTheirAnswer checks two conversations that begin with the same words: each gets the signatures
// of its own answer, also if the upstream sends no ids or repeated ones.
func TestSignaturesStayWithTheirAnswer(t *testing.T) {
	for _, up := range []string{wire.Gemini, wire.Messages, wire.Responses, wire.Converse} {
		for client := range roots {
			if client == up {
				continue
			}
			for _, second := range []string{"Oslo", "Rome"} {
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/%s/stream=%t", up, client, second, stream), func(t *testing.T) {
						v, url := signingGateway(t, up, nil)
						one, two := newTalk(t, v, url, client, stream), newTalk(t, v, url, client, stream)
						one.ask(thought("the first plan", "U0lHTkFUVVJFLTE="), callOf("call_1", "Rome"))
						two.ask(thought("the second plan", "U0lHTkFUVVJFLTI="), callOf("call_1", second))
						one.goOn(theEnd)
						if got := string(v.asked); !strings.Contains(got, "U0lHTkFUVVJFLTE=") || strings.Contains(got, "U0lHTkFUVVJFLTI=") || strings.Contains(got, "second plan") {
							t.Errorf("the first conversation sends %s", got)
						}
						two.goOn(theEnd)
						if got := string(v.asked); !strings.Contains(got, "U0lHTkFUVVJFLTI=") || strings.Contains(got, "U0lHTkFUVVJFLTE=") || strings.Contains(got, "first plan") {
							t.Errorf("the second conversation sends %s", got)
						}
					})
				}
			}
		}
	}
}

// TestThinkingOfOtherVendors checks that a conversation without thinking does not get the thinking of another one with the
// same call. If the two are indistinguishable, neither gets it, and the client is warned.
func TestThinkingOfOtherVendors(t *testing.T) {
	const private, sign = "a private plan", "U0lHTkVE"
	for _, test := range []struct {
		name, id  string
		city      string
		text      string
		own, warn bool // the first conversation gets its own thinking, or a warning
	}{
		{"a number for an id", "call_0", "Rome", "", true, false},
		{"another call", "toolu_1", "Oslo", "", true, false},
		{"another text", "toolu_1", "Rome", "I look it up.", true, false},
		{"all the same", "toolu_1", "Rome", "", false, true},
	} {
		for _, client := range []string{wire.Chat, wire.Responses} {
			t.Run(test.name+"/"+client, func(t *testing.T) {
				v, url := signingGateway(t, wire.Messages, nil)
				one, two := newTalk(t, v, url, client, true), newTalk(t, v, url, client, true)
				one.ask(thought(private, sign), speak("Let me see."), callOf(test.id, "Rome"))
				text := "Let me see."
				if test.text != "" {
					text = test.text
				}
				two.ask(speak(text), callOf(test.id, test.city))
				for _, c := range []*talk{one, two} { // these do not send thinking back
					c.last.Message.Parts = slices.DeleteFunc(c.last.Message.Parts, func(p llm.Part) bool { _, ok := p.(llm.Thinking); return ok })
				}
				two.goOn(theEnd)
				if got := string(v.asked); strings.Contains(got, private) || strings.Contains(got, sign) {
					t.Errorf("the second conversation sends %s", got)
				}
				got := one.goOn(theEnd)
				if own := strings.Contains(string(v.asked), sign); own != test.own {
					t.Errorf("the first conversation sends %s", v.asked)
				}
				if warned := strings.Contains(fmt.Sprint(got.header.Values(exchange.WarningHeader)), "look the same"); warned != test.warn {
					t.Errorf("it is told %q", got.header.Values(exchange.WarningHeader))
				}
			})
		}
	}
}

// TestSignedTurnsKeepTheirOrder checks that signed content returns to its original place.
func TestSignedTurnsKeepTheirOrder(t *testing.T) {
	turn := []block{thought("one", "c2lnbmVkMQ=="), speak("I look at it first. "), callOf("k1", "Rome"), thought("two", "c2lnbmVkMg=="), speak("Then at this. "), callOf("k2", "Oslo")}
	want := []string{"think one", "text I look at it first.", `call {"city":"Rome"}`, "think two", "text Then at this.", `call {"city":"Oslo"}`}
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
				})
			}
		}
	}
}

// TestManySignedTurns checks that the signatures of each answer in a long conversation are restored each time.
func TestManySignedTurns(t *testing.T) {
	for _, up := range []string{wire.Messages, wire.Gemini} {
		for client := range roots {
			v, url := signingGateway(t, up, nil)
			c := newTalk(t, v, url, client, true)
			c.ask(thought("0", "c2lnbmVkMDA="), callOf("", "City 0"))
			for i := 1; i < 5; i++ {
				if i == 3 { // the same call with the same result before it
					c.goOn(thought("3", "c2lnbmVkMDM="), callOf("k", "City 2"))
				} else {
					c.goOn(thought(fmt.Sprint(i), fmt.Sprintf("c2lnbmVkMD%d=", i)), callOf("k", fmt.Sprint("City ", i)))
				}
				for k := range i {
					if sign := []string{"c2lnbmVkMDA=", "c2lnbmVkMD1=", "c2lnbmVkMD2=", "c2lnbmVkMDM=", "c2lnbmVkMD4="}[k]; strings.Count(string(v.asked), sign) != 1 {
						t.Errorf("%s over %s, turn %d: the signature of %d did not come back in %s", client, up, i, k, v.asked)
					}
				}
			}
		}
	}
}

// TestChangedTurns checks that signatures are restored after ordinary changes by clients, and not for a different turn.
func TestChangedTurns(t *testing.T) {
	edit := func(change func(c *llm.Call)) func(*talk) {
		return func(c *talk) {
			for i, p := range c.last.Message.Parts {
				if call, ok := p.(llm.Call); ok {
					change(&call)
					c.last.Message.Parts[i] = call
				}
			}
		}
	}
	drop := func(unwanted func(llm.Part) bool) func(*talk) {
		return func(c *talk) { c.last.Message.Parts = slices.DeleteFunc(c.last.Message.Parts, unwanted) }
	}
	isText := func(p llm.Part) bool { _, ok := p.(llm.Text); return ok }
	for _, test := range []struct {
		name   string
		change func(*talk)
		want   bool
	}{
		{"as it was", func(*talk) {}, true},
		{"without its text", drop(isText), true},
		{"without thinking", drop(func(p llm.Part) bool { _, ok := p.(llm.Thinking); return ok }), true},
		{"with other space", func(c *talk) {
			for i, p := range c.last.Message.Parts {
				if text, ok := p.(llm.Text); ok {
					c.last.Message.Parts[i] = llm.Text{Text: "\n" + strings.TrimSpace(text.Text)}
				}
			}
		}, true},
		{"arguments written otherwise", edit(func(c *llm.Call) { c.Args = json.RawMessage(`{ "city" : "\u0052ome" }`) }), true},
		{"arguments with a default", edit(func(c *llm.Call) { c.Args = json.RawMessage(`{"unit":"C","city":"Rome"}`) }), true},
		{"in two messages", func(c *talk) {
			parts := c.last.Message.Parts
			c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: slices.DeleteFunc(slices.Clone(parts), func(p llm.Part) bool { return !isText(p) })})
			drop(isText)(c)
		}, true},
		{"other arguments", edit(func(c *llm.Call) { c.Args = json.RawMessage(`{"city":"Oslo"}`) }), false},
		{"another name", edit(func(c *llm.Call) { c.Name = "get_time" }), false},
		{"another id", edit(func(c *llm.Call) { c.ID = "toolu_2" }), false},
		{"another text", func(c *talk) {
			drop(isText)(c)
			c.last.Message.Parts = slices.Insert(c.last.Message.Parts, 0, llm.Part(llm.Text{Text: "I was told to say this."}))
		}, false},
		{"another question", func(c *talk) { c.req.Messages = []llm.Message{llm.User("Where is Paris?")} }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, url := signingGateway(t, wire.Messages, nil)
			c := newTalk(t, v, url, wire.Chat, false)
			c.ask(thought("a plan", "U0lHTkVE"), speak("Let me see. "), callOf("toolu_1", "Rome"))
			test.change(c)
			c.goOn(theEnd)
			if got := strings.Contains(string(v.asked), "U0lHTkVE"); got != test.want {
				t.Errorf("signed = %t in %s", got, v.asked)
			}
		})
	}
}

// TestSignaturesOfTeams checks that signatures of one team are not restored for another.
func TestSignaturesOfTeams(t *testing.T) {
	v := &signingVendor{format: wire.Messages, says: []block{thought("a plan", "U0lHTkVE"), callOf("toolu_1", "Rome")}}
	g := guard(t, v)
	mine, ours, theirs := g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "blue"})
	req := question(wire.Messages)
	_, body := g.send(t, wire.Chat, req, false, bearerOf(mine))
	codec, _ := wire.For(wire.Chat)
	first, err := codec.DecodeResponse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, first.Message, sunny(first.Message))
	v.says = []block{theEnd}
	for key, want := range map[string]bool{mine: true, ours: true, theirs: false} {
		g.send(t, wire.Chat, req, false, bearerOf(key))
		if got := strings.Contains(string(v.asked), "U0lHTkVE"); got != want {
			t.Errorf("signed = %t, want %t: %s", got, want, v.asked)
		}
	}
}

// oldStore returns values of another version for every key.
type oldStore struct{ state.Memory }

func (*oldStore) Empty(state.Kind) bool { return false }

func (*oldStore) Get(_ context.Context, _ state.Kind, _ string, hashes ...state.Hash) (map[state.Hash][][]byte, error) {
	found := map[state.Hash][][]byte{}
	for _, h := range hashes {
		for _, value := range []string{`{"role":"assistant","parts":[{"type":"thinking","text":"old","state":{"vendor":"up/messages","data":"x"}},{"type":"call","id":"toolu_1","name":"get_weather"}]}`,
			`{}`, `null`, `[]`, `x`, `{"calls":[{}]}`, `{"message":{"role":"assistant","parts":[]},"calls":[{"id":"toolu_1","name":"get_weather"}]}`} {
			found[h] = append(found[h], []byte(value))
		}
	}
	return found, nil
}

// TestSignaturesOfOlderGateways checks that entries of an older gateway are ignored.
func TestSignaturesOfOlderGateways(t *testing.T) {
	v, url := signingGateway(t, wire.Messages, new(oldStore))
	c := newTalk(t, v, url, wire.Chat, false)
	c.ask(callOf("toolu_1", "Rome"))
	c.goOn(theEnd)
	if strings.Contains(string(v.asked), "old") {
		t.Errorf("%s", v.asked)
	}
}

// TestThinkingBetweenTexts checks that thinking between texts keeps its place in the answer and in the next request,
// with and without a call.
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
					if up != client { // without a call, signatures are not stored
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

// TestSignedTurnsOfPrunedHistories checks conversations in which an agent shortens old results, drops old turns and
// edits the question. An answer with a unique id still gets its signatures back.
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
					if warned := got.header.Values(exchange.WarningHeader); strings.Contains(fmt.Sprint(warned), "signed") {
						t.Errorf("the client is told %q", warned)
					}
				})
			}
		}
	}
}

// TestUnknownSignedTurns checks that the client is warned if the last calls are unknown to the store. Answers to older
// questions need no signatures.
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
				warned := strings.Contains(fmt.Sprint(c.ask(theEnd).header.Values(exchange.WarningHeader)), "signatures of the last calls")
				if warned != test.want {
					t.Errorf("warned = %t, want %t", warned, test.want)
				}
			})
		}
	}
}
