package caller

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
)

// TestQuestionsAreAboutTheEffect: the answer of a client counts for the effect that the question was about, and the
// question shows what runs and what changed.
func TestQuestionsAreAboutTheEffect(t *testing.T) {
	q := invoke.Question{CallID: "1", Tool: "say", Args: json.RawMessage(`{}`), ParamsHash: journal.ParamsHash(nil), Bound: map[string]journal.Hash{"command": "sha256:1", "folder .": "sha256:2"}}
	same, other, changed := q, q, q
	same.CallID, same.Bound = "2", map[string]journal.Hash{"folder .": "sha256:2", "command": "sha256:1"}
	other.Bound = map[string]journal.Hash{"command": "sha256:9", "folder .": "sha256:2"}
	changed.Changed = "the command is another one"
	if questionKey(q) != questionKey(same) || questionKey(q) == questionKey(other) || questionKey(q) == questionKey(changed) {
		t.Error("an answer does not belong to exactly one effect")
	}
	changed.Runs = "sh -c 'rm x'"
	f, refusal := form(changed)
	if refusal != "" || !strings.Contains(f.Message, "It runs: sh -c 'rm x'") || !strings.Contains(f.Message, "not what was approved: the command is another one") {
		t.Errorf("%q\n%s", refusal, f.Message)
	}
}
