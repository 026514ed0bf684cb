package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// A conversation of which nothing can be carried is never an empty list, which vendors refuse, and the client is told.
func TestUncarriedConversation(t *testing.T) {
	audio := llm.Media{Kind: llm.Audio, MIME: "audio/wav", Data: []byte("RIFF")}
	for _, tt := range []struct {
		to   string
		part llm.Part
	}{
		{Messages, audio},
		{Converse, llm.Media{Kind: llm.Image, MIME: "image/png", URL: "https://example.org/a.png"}},
		{Gemini, llm.Text{}},
	} {
		user := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{tt.part}}
		out, warnings, err := Codec{Format: tt.to}.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{user}}, false)
		if err != nil || strings.Count(string(out), turns.NotCarried) != 1 || !strings.Contains(fmt.Sprint(warnings), turns.NotCarried) {
			t.Errorf("%s: %v, %s, %v", tt.to, err, out, warnings)
		}
		out, _, err = Codec{Format: tt.to}.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{llm.User("a"), llm.Assistant(llm.Text{Text: "b"}), user, llm.User("c")}}, false)
		if err != nil || strings.Contains(string(out), turns.NotCarried) || strings.Contains(string(out), `"text":""`) {
			t.Errorf("%s: %v, %s", tt.to, err, out)
		}
	}
}

// Where Converse cannot carry a turn of the user, the turn is there and says so: two turns of the model in a row are refused.
func TestUncarriedTurnsOfConverse(t *testing.T) {
	far := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Media{Kind: llm.Image, MIME: "image/png", URL: "https://example.org/a.png"}}}
	said := llm.Assistant(llm.Text{Text: "b"})
	for _, list := range [][]llm.Message{{far, said, llm.User("c")}, {llm.User("a"), said, far, said, llm.User("c")}, {llm.User("a"), said, far}} {
		out, warnings, err := Codec{Format: Converse}.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: list}, false)
		if err != nil || strings.Count(string(out), turns.NotCarried) != 1 || strings.Count(string(out), `"role"`) != len(list) || !strings.Contains(fmt.Sprint(warnings), turns.NotCarried) {
			t.Errorf("%v, %s, %v", err, out, warnings)
		}
	}
}

// unsayable are conversations of five turns, of which other formats can carry all but the third and the fourth.
var unsayable = map[string]string{
	Gemini: `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"}]},
		{"role":"user","parts":[{"executableCode":{"language":"PYTHON","code":"1"}}]},
		{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"}}]},{"role":"user","parts":[{"text":"c"}]}]}`,
	Messages: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},
		{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f1"}}]},
		{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]},{"role":"user","content":"c"}]}`,
	Converse: `{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"a"}]},
		{"role":"user","content":[{"guardContent":{"text":{"text":"x"}}}]},{"role":"assistant","content":[{"odd":{}}]},{"role":"user","content":[{"text":"c"}]}]}`,
	Chat: `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},
		{"role":"user","content":[{"type":"odd","x":1}]},{"role":"assistant","content":[{"type":"odd"}]},{"role":"user","content":"c"}]}`,
	Responses: `{"model":"m","input":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},
		{"role":"user","content":[{"type":"odd","x":1}]},{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"x"}},{"role":"user","content":"c"}]}`,
}

// TestUncarriedTurns: a turn that holds only what the other format cannot carry is there and says so, in every format, healed or
// not, with a warning: else two turns of one side stand in a row, or a message is empty.
func TestUncarriedTurns(t *testing.T) {
	for from, body := range unsayable {
		req, _, err := Codec{Format: from}.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(from, err)
		}
		for _, to := range []string{Chat, Responses, Messages, Gemini, Converse, Ollama} {
			for _, healed := range []bool{false, true} {
				r, want := *req, 2
				r.MaxTokens = 9
				var warnings []llm.Warning
				if healed {
					r.Messages, warnings = history.Repair(r.Messages, to)
				}
				out, more, err := Codec{Format: to}.EncodeRequest(&r, false)
				if to == from {
					want = 0
				}
				what := fmt.Sprintf("%s to %s, healed %v: %s", from, to, healed, out)
				said := strings.Count(fmt.Sprint(append(warnings, more...)), turns.NotCarried)
				if err != nil || strings.Count(string(out), turns.NotCarried) != want || said != want {
					t.Errorf("%s: %v, %v", what, append(warnings, more...), err)
				}
				for _, empty := range []string{`"content":[]`, `"content":""`, `"parts":[]`} {
					if strings.Contains(string(out), empty) {
						t.Errorf("%s: %s", what, empty)
					}
				}
				if sides := sidesOf(t, to, out); from != to && !slices.Equal(sides, []llm.Role{"user", "assistant", "user", "assistant", "user"}) {
					t.Errorf("%s: %v", what, sides)
				}
			}
		}
	}
}

func sidesOf(t *testing.T, format string, body []byte) (sides []llm.Role) {
	req, _, err := Codec{Format: format}.DecodeRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range req.Messages {
		sides = append(sides, turns.Speaker(m.Role))
	}
	return sides
}

// TestUncarriedTurnsAtTheEnds: what the user says first or last is there although nothing of it can be carried, and the model says nothing there that is
// not its own. A turn of which something is left is not said twice.
func TestUncarriedTurnsAtTheEnds(t *testing.T) {
	file := llm.Media{Kind: llm.Document, ID: "f", State: llm.State{Vendor: "elsewhere", Data: []byte(loss.OwnFile)}}
	hosted := llm.Assistant(llm.Call{ID: "h", Name: "web_search", Hosted: true, Args: []byte("{}"), State: llm.State{Vendor: "elsewhere", Data: []byte("{}")}})
	lost := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{file}}
	said := llm.Assistant(llm.Text{Text: "b"})
	for name, c := range map[string]struct {
		list []llm.Message
		want string
	}{
		"first":            {[]llm.Message{lost, said, llm.User("c")}, "user- assistant user"},
		"last":             {[]llm.Message{llm.User("a"), said, lost}, "user assistant user-"},
		"model first":      {[]llm.Message{hosted, llm.User("c")}, "user"},
		"model last":       {[]llm.Message{llm.User("a"), hosted}, "user"},
		"beside the user":  {[]llm.Message{llm.User("a"), said, lost, llm.User("c")}, "user assistant user"},
		"beside the model": {[]llm.Message{llm.User("a"), hosted, said, llm.User("c")}, "user assistant user"},
		"two":              {[]llm.Message{llm.User("a"), said, lost, lost, said, llm.User("c")}, "user assistant user- assistant user"},
		"only":             {[]llm.Message{lost}, "user-"},
	} {
		for _, to := range []string{Chat, Responses, Messages, Gemini, Converse, Ollama} {
			for _, healed := range []bool{false, true} {
				list := c.list
				if healed {
					list, _ = history.Repair(list, to)
				}
				out, _, err := Codec{Format: to}.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: list}, false)
				if err != nil {
					t.Fatal(err)
				}
				req, _, err := Codec{Format: to}.DecodeRequest(out)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, m := range req.Messages {
					word := string(m.Role)
					if m.Text() == turns.NotCarried {
						word += "-"
					}
					got = append(got, word)
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("%s to %s, healed %v: %v, want %s\n%s", name, to, healed, got, c.want, out)
				}
			}
		}
	}
}
