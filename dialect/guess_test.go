package dialect

import (
	"strings"
	"testing"
)

// Text made of only beginnings of calls stays text, however deep, and a
// call after a little of it is still read.
func TestBeginningsOfCalls(t *testing.T) {
	for _, piece := range []string{"[", "{\"a\":", "<tool_call>", "```json\n", "<invoke "} {
		wrote := strings.Repeat(piece, 1<<14/len(piece))
		if got := readAgain(t, Parser{}, Whole(wrote)); got.Calls != nil || got.Text != strings.TrimSpace(wrote) {
			t.Errorf("%s: %d calls, %d of %d bytes of text", piece, len(got.Calls), len(got.Text), len(wrote))
		}
	}
	wrote := strings.Repeat("[", 50) + "\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"
	if got := readAgain(t, Parser{}, Whole(wrote)); len(got.Calls) != 1 {
		t.Errorf("%+v", got)
	}
}
