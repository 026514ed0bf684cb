package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/wire"
)

// TestRefusedRequestIsLogged checks that a client is told that a person denied its call, and why, with a single warning.
func TestRefusedRequestIsLogged(t *testing.T) {
	d := newDesk(t, 0, "call write {\"what\":\"x\"}")
	ask(t, d.url, wire.Chat, question("m"), false)
	id := d.waiting(t)[0].ID
	if status, got := d.do(t, "POST", "/admin/approvals/"+id, `{"decision":"deny","by":"ada","reason":"not today"}`); status != 200 {
		t.Fatal(status, got)
	}
	said := ask(t, d.url, wire.Chat, question("m"), false).header.Values(exchange.WarningHeader)
	if !slices.ContainsFunc(said, func(w string) bool {
		return strings.Contains(w, "was refused") && strings.Contains(w, "not today")
	}) {
		t.Errorf("%q", said)
	}
	once := slices.Compact(slices.Sorted(slices.Values(said)))
	if len(once) != len(said) {
		t.Errorf("a warning is said twice: %q", said)
	}
}
