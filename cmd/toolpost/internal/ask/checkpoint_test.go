package ask

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func TestCheckpointMenu(t *testing.T) {
	e := tool.Errorf(tool.NotFound, "there is no nope.txt")
	e.Fix = "Use list_files to find the right path, and then read the file that you have found there."
	shown := func(c agent.Checkpoint, width int) string {
		q := Failure(cli.Palette{}, c, "the run")
		q.quiet = time.Now().Add(-2 * Settle)
		q.Resize(width, 40)
		return q.Draw() + "\n"
	}
	got := shown(agent.Checkpoint{
		N: 1, Cause: agent.ToolFailed, Model: "some/model", Attempt: 3, Error: e,
		Call:    llm.Call{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"path":"nope.txt"}`)},
		Options: []agent.Action{agent.Retry, agent.Skip, agent.Manual, agent.Abort},
	}, 60)
	want := `✗ read_file failed, and nothing that can be tried is left
  code      not_found (may succeed another time)
  message   there is no nope.txt
  fix       Use list_files to find the right path, and then
            read the file that you have found there.
  strategy  vortex, after attempt 3
  call      read_file {"path":"nope.txt"}
  [r]etry run the call again
  [s]kip leave it to the model
  [m]anual type the result yourself
  [a]bort end the run
  a key, then Enter
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	model := shown(agent.Checkpoint{Cause: agent.ModelFailed, Model: "some/model", Raw: "I cannot\nhelp", Error: tool.Errorf(tool.ModelRefusal, "it called nothing"), Options: []agent.Action{agent.Retry}}, 80)
	for _, want := range []string{"✗ the model some/model gave no usable answer\n", "code      model_refusal", "it wrote  I cannot …", "[r]etry ask the model again"} {
		if !strings.Contains(model, want) {
			t.Errorf("no %q in\n%s", want, model)
		}
	}
	for _, action := range []agent.Action{agent.Retry, agent.Skip, agent.Manual} {
		for _, cause := range []agent.Cause{agent.ToolFailed, agent.ModelFailed, agent.LoopStopped} {
			if view.ActionTexts[action][cause] == "" {
				t.Errorf("nothing says what %s does after %s", action, cause)
			}
		}
	}
}
