package gateway_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/wire"
)

// TestApprovalWordsArePrintable checks that who decides, and why, cannot steer the terminal of who reads the record: such a decision is refused, and
// the call waits on.
func TestApprovalWordsArePrintable(t *testing.T) {
	d := newDesk(t, 0, "call write {\"what\":\"x\"}")
	ask(t, d.url, wire.Chat, question("m"), false)
	list := d.waiting(t)
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	id := "/admin/approvals/" + list[0].ID
	for body, want := range map[string]string{
		`{"decision":"approve","by":"ada\u001b[2J"}`:                   "by, who decides",
		`{"decision":"deny","by":"ada\u001b]0;x\u0007"}`:               "by, who decides",
		`{"decision":"approve","by":"ada\nbob"}`:                       "by, who decides",
		`{"decision":"approve","by":"ada\u009b31m"}`:                   "by, who decides",
		`{"decision":"approve","by":"ada\u202ebob"}`:                   "by, who decides",
		`{"decision":"approve","by":"ada","reason":"yes\u001b[8m no"}`: "the reason",
	} {
		if status, got := d.do(t, "POST", id, body); status != 400 || !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\x07\u009b\u202e") || strings.Contains(got, "agent:") {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if len(d.waiting(t)) != 1 {
		t.Error("a decision that was refused counted")
	}
	if status, got := d.do(t, "POST", id, `{"decision":"approve","by":"Ada Ł. 👩‍💻","reason":"as agreed:\n- once"}`); status != 200 {
		t.Errorf("%d %s", status, got)
	}
}
