package history

import (
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// A call of a history is whole if encoding/json reads its arguments as those of its kind.
func TestWholeCalls(t *testing.T) {
	for _, args := range []string{
		``, ` `, `{}`, ` {"a":1} `, "\n{\"a\":[1,{\"b\":null}]}\t", `{"a":1`, `{"a":1}}`, `{"a":1} {}`, `{a:1}`, `{'a':1}`, `{"a":1,}`, `[]`, `[1]`, `"x"`, ` "x" `, `"x`, `"x" "y"`,
		`"\u12"`, "\"a\nb\"", `null`, ` null `, `nul`, `nullx`, `true`, `0`, `-1`, `1.5e3`, "\u00a0{}", "\v{}", "{}\x00", `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
	} {
		var object map[string]json.RawMessage
		var text string
		wantObject := args == "" || json.Unmarshal([]byte(args), &object) == nil
		wantText := json.Unmarshal([]byte(args), &text) == nil
		if got := whole(llm.Call{Name: "f", Args: json.RawMessage(args)}); got != wantObject {
			t.Errorf("%q as arguments: whole is %v", args, got)
		}
		if got := whole(llm.Call{Name: "f", Kind: llm.FreeTool, Args: json.RawMessage(args)}); got != wantText {
			t.Errorf("%q as text: whole is %v", args, got)
		}
	}
}
