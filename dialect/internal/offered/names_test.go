package offered

import (
	"testing"

	"github.com/toolpost/toolpost/llm"
)

var tools = []llm.ToolDef{
	{Name: "get_weather", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
	{Name: "send-mail", Schema: []byte(`{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}},"required":["to"]}`)},
	{Name: "ping"},
}

func TestResolve(t *testing.T) {
	n := New(tools)
	for written, want := range map[string]string{
		"get_weather": "get_weather", "get-weather": "get_weather", "functions.get_weather": "get_weather", `get\_weather`: "get_weather",
		"mcp__server__ping": "ping", "ping.ping": "ping", "functionsping0": "ping", "send_mail": "send-mail", "pong": "", "": "",
	} {
		if got, ok := n.Resolve(written); ok != (want != "") || ok && got != want {
			t.Errorf("%q means %q (%v), want %q", written, got, ok, want)
		}
	}
	if name, ok := New(nil).Resolve("functions.anything"); !ok || name != "anything" {
		t.Errorf("where every name will do, functions.anything is %q (%v)", name, ok)
	}
	if _, ok := New([]llm.ToolDef{}).Resolve("ping"); ok {
		t.Error("where no tool was offered, ping is a name")
	}
}

// MayBecome is true for every beginning of a name.
func TestMayBecome(t *testing.T) {
	n := New(tools)
	for _, name := range []string{"get_weather", "functions.ping"} {
		for i := range name {
			if !n.MayBecome(name[:i+1]) {
				t.Errorf("%q may become no name", name[:i+1])
			}
		}
	}
	if n.MayBecome("gat") {
		t.Error("gat may become a name")
	}
}

func TestMeant(t *testing.T) {
	n := New(tools)
	for written, want := range map[string]string{"getWeather": "get_weather", "sendMail": "send-mail", "GETWEATHER": "", "weather": ""} {
		if got, ok := n.Meant(written); ok != (want != "") || ok && got != want {
			t.Errorf("%q means %q (%v), want %q", written, got, ok, want)
		}
	}
}

func TestFitting(t *testing.T) {
	n := New(tools)
	for args, want := range map[string]string{`{"city":"Rome"}`: "get_weather", `{"to":"a","text":"b"}`: "send-mail", `{"text":"b"}`: "", `{}`: "", `{"x":1}`: ""} {
		if got := n.Fitting([]byte(args)); got != want {
			t.Errorf("%s fits %q, want %q", args, got, want)
		}
	}
}
