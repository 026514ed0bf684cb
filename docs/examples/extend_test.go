package examples

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
)

// TestExtend: the model's calls are read in the program's own dialect and run by its
// own tools, the card stays out of what the model reads, and the trace has every step.
func TestExtend(t *testing.T) {
	program, dir := testkit.Build(t, "extend"), t.TempDir()
	const booked = `call_1 find {"Town": "Siena"}
call_2 book {"room": 7}
booked {"room": 7} [card] <nil>
sealed 18 entries <nil>
span chat acme/scribe
span execute_tool find
span turn 1
span chat acme/scribe
span execute_tool book
span turn 2
span chat acme/scribe
span turn 3
span invoke_agent
`
	if out, code := output(t, program, dir, nil, "Book a room in Siena, 4242 4242 4242 4242"); code != 0 || out != booked {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	if out, code := output(t, program, dir, nil, "Book a room in Atlantis"); code != 0 || strings.Contains(out, "book ") || !strings.Contains(out, "not_found: no room in Atlantis\n") || !strings.Contains(out, "sealed 12 entries <nil>\n") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
}

// TestUsage: a program that is called without what it needs says what that is.
func TestUsage(t *testing.T) {
	for _, name := range []string{"approval", "extend", "image", "media", "resume", "switch"} {
		if out, code := output(t, testkit.Build(t, name), t.TempDir(), nil); code != 1 || !strings.Contains(out, "usage: "+name+" ") || strings.Contains(out, "nil") {
			t.Errorf("%s: exit status %d:\n%s", name, code, out)
		}
	}
}
