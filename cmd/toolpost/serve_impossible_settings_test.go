package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
)

// TestServeRefusesImpossibleSettings: settings without effect, or that would refuse every request, are reported.
func TestServeRefusesImpossibleSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	for _, row := range []struct {
		config string
		args   []string
		says   string
	}{
		{"gateway:\n  max_body: 1\n" + goodRoute, []string{"--check"}, ":2: gateway.max_body: 1 is too small; the minimum is 1024"},
		{"gateway:\n  max_header: 1\n" + goodRoute, []string{"--check"}, ":2: gateway.max_header: 1 is too small; the minimum is 512"},
		{"gateway:\n" + goodRoute, []string{"--for", "codex", "--addr", "foo"}, "--addr: "},
		{"gateway:\n" + goodRoute, []string{"--for", "codex", "--check"}, "leave out --check"},
	} {
		writeFile(t, file, row.config)
		if got := toolpost(t, "", append([]string{"serve", "--config", file}, row.args...)...); got.code == 0 || !strings.Contains(got.errOut, row.says) {
			t.Errorf("%v: %d %s%s, want %s", row.args, got.code, got.out, got.errOut, row.says)
		}
	}
	writeFile(t, file, "\ufeffgateway:\n"+goodRoute)
	must(t, toolpost(t, "", "serve", "--check", "--config", file), 0, "the routes are in order")
	writeFile(t, file, "\ufeffmodel_list:\n"+liteEntry("a", "model: openai/gpt-4o"))
	if got := toolpost(t, "", "serve", "import", file); got.code != 0 || !strings.Contains(got.errOut, "1 of 1 model") {
		t.Errorf("a file with a mark is not imported: %s%s", got.out, got.errOut)
	}
}

// TestAddressInUse: the error of a second gateway explains how both can run.
func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := listen.On(l.Addr().String()); err == nil || !strings.Contains(err.Error(), "another address with --addr") {
		t.Errorf("%v", err)
	}
}

// TestUsageLogFitsTerminal: time and id identify requests and are complete on any terminal.
func TestUsageLogFitsTerminal(t *testing.T) {
	for _, width := range []int{80, 120} {
		rows := [][]string{
			{"AT", "REQUEST", "TEAM", "KEY", "ROUTE", "MODEL", "UPSTREAM", "STATUS", "INPUT", "OUTPUT", "USD", "TOOK"},
			{"2026-11-18 01:02:03", "req_AZVA5TA74XCZXVS2RXW4QTJSFT", "research", "tp-px57t57ip4", "claude-*", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "ok (cached)", "12345", "678", "0.001234", "1.234s"},
		}
		got, _ := keys.Fitted(rows, width, keys.LogWhole, keys.LogLeast)
		if got[1][0] != rows[1][0] || got[1][1] != rows[1][1] || keys.TableWidth(got) > width {
			t.Errorf("%d columns: %q", width, got)
		}
	}
}
