package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestDetectGolden: every answer and stream of the golden files is found to be
// of its vendor, and replays to a finish or the error it holds.
func TestDetectGolden(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*.txtar")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range txtar.Parse(b).Files {
			format := filepath.Base(filepath.Dir(file))
			if part.Name == "stream" {
				part.Data = streamBytes(t, format, part.Data)
			}
			got, ok := Detect(part.Data)
			switch part.Name {
			case "answer", "stream":
				if !ok || got.Format != format {
					t.Errorf("%s %s: found %+v", file, part.Name, got)
				}
				if part.Name == "answer" && got.Framing != framingJSON {
					t.Errorf("%s: an answer is %s", file, got.Framing)
				}
			case "request":
				if ok {
					t.Errorf("%s: a request was taken for an answer: %+v", file, got)
				}
			}
		}
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Capture
		ok   bool
	}{
		{": comment\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\ndata: {\"type\":\"message_start\"}\n\n", Capture{Messages, framingSSE}, true},
		{"{\"model\":\"m\",\"message\":{},\"done\":false}\n{\"done\":true", Capture{Ollama, framingNDJSON}, true},
		{"\ufeff[{\"candidates\":[]}]", Capture{Gemini, framingJSON}, true},
		{converseFrames(t, `event messageStart {"role":"assistant"}`)[:40], Capture{}, false},
		{converseFrames(t, `event messageStart {"role":"assistant"}`), Capture{Converse, framingFrames}, true},
		{converseFrames(t, `event chunk {"bytes":"e30="}`), Capture{}, false},
		{"<tool_call>{\"name\":\"f\"}</tool_call>", Capture{}, false},
		{"{\"name\":\"f\",\"arguments\":{}}", Capture{}, false},
		{"data: not json\n\n", Capture{}, false},
		{"", Capture{}, false},
		{"[", Capture{}, false},
	} {
		if got, ok := Detect([]byte(c.in)); ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %+v %v", c.in, got, ok)
		}
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"data: {\"choices\":[]}\n\n", "{\"message\":{},\"done\":true}", "[1]", "text"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := Detect([]byte(s))
		if !ok {
			return
		}
		for range c.Replay(strings.NewReader(s)) {
		}
	})
}
