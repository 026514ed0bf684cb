package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/loss"
)

// Members that nobody knows go back to the object that they came from.
func TestUnknownMembersKeepTheirPlace(t *testing.T) {
	for _, tt := range []struct{ Format, ObjectSpec, body string }{
		{Chat, `"json_schema":{"name":"a","schema":{"type":"object"},"new":[1]}`,
			`{"model":"m","messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"a","new":[1],"schema":{"type":"object"}}}}`},
		{Chat, `{"type":"function","function":{"name":"b","a/b":2}}`,
			`{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[
			{"type":"function","function":{"name":"a"}},{"type":"function","function":{"a/b":2,"name":"b"}}]}}}`},
		{Chat, `"stream_options":{"include_usage":true,"new":1}`, `{"model":"m","messages":[],"stream":true,"stream_options":{"new":1}}`},
		{Messages, `"source":{"type":"url","url":"https://a.test/a.png","new":{"x":1}}`,
			`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","new":{"x":1},"url":"https://a.test/a.png"}}]}]}`},
		{Gemini, `"functionCallingConfig":{"mode":"ANY","new_one":1}`,
			`{"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}],"tool_config":{"function_calling_config":{"mode":"ANY","new_one":1}}}`},
		{Converse, `"any":{"other":1}`,
			`{"messages":[],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"any":{"new":null,"other":1}}}}`},
		{Chat, `{"type":"refusal","refusal":"no","new":1}`, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"refusal","refusal":"no","new":1}]}]}`},
		{Messages, `"/new":1`, `{"model":"m","max_tokens":5,"messages":[],"/new":1}`},
	} {
		c := Codec{Format: tt.Format}
		req, stream, err := c.DecodeRequest([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		out, warnings, err := c.EncodeRequest(req, stream)
		if err != nil || !strings.Contains(string(out), tt.ObjectSpec) || len(warnings) > 0 {
			t.Errorf("%s: %s is not in %s, %v, %v", tt.Format, tt.ObjectSpec, out, warnings, err)
		}
	}
}

// Where the object is not sent, the client learns which of its members are lost.
func TestUnknownMembersWithoutTheirObject(t *testing.T) {
	c := Codec{Format: Chat}
	req, _, err := c.DecodeRequest([]byte(`{"model":"m","messages":[],"tool_choice":{"type":"function","function":{"name":"f","new":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Choice = llm.ToolChoice{}
	for _, to := range Formats() {
		_, warnings, err := Codec{Format: to}.EncodeRequest(req, false)
		if err != nil || !slices.ContainsFunc(warnings, func(w llm.Warning) bool { return w.Feature == "tool_choice.function.new" }) {
			t.Errorf("%s: %v, %v", to, warnings, err)
		}
	}
}

// A request of many members that nobody knows costs what its bytes cost, and not the square of it.
func TestManyUnknownMembers(t *testing.T) {
	var many strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&many, `,"k%d":1`, i)
	}
	for _, body := range []string{
		`{"model":"m","max_tokens":5,"messages":[]` + many.String() + `}`,
		`{"model":"m","max_tokens":5,"messages":[],"thinking":{"type":"adaptive"` + many.String() + `}}`,
		`{"model":"m","max_tokens":5,"messages":[],"output_config":{"effort":"low"` + many.String() + `}}`,
	} {
		req, _, err := Codec{Format: Messages}.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		out, warnings, err := Codec{Format: Messages}.EncodeRequest(req, false)
		if err != nil || len(warnings) > 0 || strings.Count(string(out), `"k`) != 20000 {
			t.Errorf("%d of 20000 members, %v, %v", strings.Count(string(out), `"k`), warnings, err)
		}
		_, warnings, err = Codec{Format: Chat}.EncodeRequest(req, false)
		if err != nil || len(warnings) != loss.MaxWarnings || warnings[loss.MaxWarnings-1].Feature != "more" {
			t.Errorf("%d warnings, %v", len(warnings), err)
		}
		if took := time.Since(began); took > 5*time.Second { // it was 11 seconds and more
			t.Errorf("it took %v", took)
		}
	}
}
