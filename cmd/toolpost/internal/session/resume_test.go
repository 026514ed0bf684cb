package session

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
)

// A run whose record lacks the source of its tools is not resumed without them.
func TestResumeAsksForWhatIsMissing(t *testing.T) {
	set := clitest.ConsentTools(t, t.TempDir())
	for _, c := range []struct{ tools, want string }{
		{"read_file write_file", ""},
		{"read_file count_words", "count_words, which are not there now: name their file with --tools"},
	} {
		err := complete(&agent.Settings{Tools: strings.Fields(c.tools)}, set)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.tools, err)
		}
	}
	s := &settings.Settings{ToolOptions: settings.ToolOptions{Root: t.TempDir()}}
	reading, done, err := toolset.Open(&s.ToolOptions)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := complete(&agent.Settings{Tools: []string{"write_file", "run_command"}}, reading); err == nil || !strings.Contains(err.Error(), "add --allow exec,write") {
		t.Error(err)
	}
}
