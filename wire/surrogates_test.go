package wire

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/llm"
)

const (
	half = `\ud83d`
	pair = `\ud83d\ude00`
)

func toldHalves(warnings []llm.Warning) bool {
	return slices.ContainsFunc(warnings, func(w llm.Warning) bool { return w.Feature == "text" && strings.Contains(w.Detail, "U+FFFD") })
}

// Half of a surrogate pair in a request does not become another character without a word, and what is no text keeps it.
func TestSurrogatesInRequests(t *testing.T) {
	for _, tt := range []struct {
		text string
		lost bool
	}{{half, true}, {pair, false}, {`\` + half, false}, {"", false}} {
		body := `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a` + tt.text + `b"}]}`
		for _, from := range []string{Chat, Messages} {
			req, _, err := Codec{Format: from}.DecodeRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range Formats() {
				out, warnings, err := Codec{Format: to}.EncodeRequest(req.Clone(), false)
				if err != nil || toldHalves(warnings) != tt.lost || strings.Contains(string(out), "halves") {
					t.Errorf("%s → %s, %q: %v, %v, %s", from, to, tt.text, warnings, err, out)
				}
			}
		}
	}
	raw := `{"model":"m","max_tokens":5,"messages":[],"metadata":{"user_id":"` + half + `"},"tools":[{"name":"f","input_schema":{"type":"object","description":"` + half + `"}}]}`
	c := Codec{Format: Messages}
	req, _, err := c.DecodeRequest([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if out, warnings, err := c.EncodeRequest(req, false); err != nil || len(warnings) > 0 || strings.Count(string(out), half) != 2 {
		t.Errorf("%s, %v, %v", out, warnings, err)
	}
}

// A value that is carried as the JSON it is keeps its halves, in arguments that are a string, too.
func TestSurrogatesInRawValues(t *testing.T) {
	const body = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"TEXT"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"a":"\ud83d","b":"\uFFFD"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"}]}],"tools":[{"name":"f","input_schema":{"type":"object","description":"\ud83d"}}]}`
	for text, lost := range map[string]bool{"a": false, half: true, "\ufffd": false} {
		for _, to := range Formats() {
			out, warnings := sentOn(t, Messages, to, strings.Replace(body, "TEXT", text, 1))
			if strings.Count(out, half) != 2 || toldHalves(warnings) != lost {
				t.Errorf("%s, %q: %s, %v", to, text, out, warnings)
			}
		}
	}
	answer := `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"TEXT"},{"type":"tool_use","id":"c1","name":"f","input":{"a":"\ud83d"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`
	for text, lost := range map[string]bool{"a": false, half: true} {
		r, err := Codec{Format: Messages}.DecodeResponse([]byte(strings.Replace(answer, "TEXT", text, 1)))
		if err != nil || toldHalves(r.Warnings) != lost || !strings.Contains(string(r.Message.Calls()[0].Args), half) {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
	several := `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},{"index":1,"message":{"role":"assistant","content":"` + half + `"},"finish_reason":"stop"}]}`
	if r, err := (Codec{Format: Chat}).DecodeResponse([]byte(several)); err != nil || !toldHalves(r.Warnings) {
		t.Errorf("%v, %v", r, err)
	}
}

// So it is with answers of every format, streamed or not.
func TestSurrogatesInAnswers(t *testing.T) {
	for text, lost := range map[string]bool{half: true, pair: false} {
		for _, format := range Formats() {
			c := Codec{Format: format}
			whole, _, err := c.EncodeResponse(&llm.Response{Message: llm.Assistant(llm.Text{Text: "here"}), Finish: llm.Finish{Reason: llm.Stop}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.DecodeResponse([]byte(strings.Replace(string(whole), "here", text, 1)))
			if err != nil || toldHalves(r.Warnings) != lost {
				t.Errorf("%s, %s: %v, %v", format, text, r, err)
			}
		}
	}
	files, err := filepath.Glob("testdata/*/stream.txtar")
	if err != nil || len(files) != len(Formats()) {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "testdata/gemini/array.txtar") {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := Codec{Format: filepath.Base(filepath.Dir(file))}
		i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == "stream" })
		for text, lost := range map[string]bool{half: true, pair: false} {
			data := firstText.ReplaceAllString(string(ar.Files[i].Data), `${0}`+text)
			var warnings []llm.Warning
			for ev, err := range c.DecodeStream(strings.NewReader(string(streamBytes(t, c.Format, []byte(data))))) {
				if err != nil {
					t.Errorf("%s: %v", file, err)
				}
				if w, ok := ev.(llm.Warning); ok {
					warnings = append(warnings, w)
				}
			}
			if toldHalves(warnings) != lost {
				t.Errorf("%s, %s: %v", file, text, warnings)
			}
		}
	}
}

var firstText = regexp.MustCompile(`"(text|content|delta)": ?"`)
