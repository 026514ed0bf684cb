package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/sim"
)

// TestBudget: a run ends when its models exceed the budget. Without a known price it does not start. The cost is
// reported.
func TestBudget(t *testing.T) {
	dir := ownHome(t)
	t.Setenv("TOOLPOST_STORE", filepath.Join(dir, "runs"))
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	id := server.URL + "/v1#sim/native"
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	task := []string{"--root", dir, `Read the file "a.txt"`}
	ask := func(args ...string) result {
		return toolpost(t, "", append(append([]string{"run"}, args...), task...)...)
	}

	r := ask("-m", id, "--budget-usd", "1")
	if want := "the budget of $1.00 cannot be kept: the price of " + id + " is not known. Put its price into models.yaml"; r.code != cli.ExitFailed || !strings.Contains(r.errOut, want) || strings.Contains(r.errOut, "Agent.") {
		t.Errorf("exit %d, %s", r.code, r.errOut)
	}
	for value, says := range map[string]string{"much": "expected an amount of dollars such as 0.25", "0": "leave it out for no bound", "-1": "expected an amount"} {
		if r := ask("-m", id, "--budget-usd", value); r.code != cli.ExitUsage || !strings.Contains(r.errOut, "--budget-usd: ") || !strings.Contains(r.errOut, says) {
			t.Errorf("%s: exit %d, %s", value, r.code, r.errOut)
		}
	}
	for name, value := range map[string]string{"TOOLPOST_BUDGET_USD": "abc", "TOOLPOST_MAX_TURNS": "many", "TOOLPOST_MAX_TOKENS": "-1"} {
		t.Setenv(name, value)
		if r := ask("-m", id); r.code != cli.ExitUsage || !strings.Contains(r.errOut, name+": ") {
			t.Errorf("%s=%s: exit %d, %s", name, value, r.code, r.errOut)
		}
		t.Setenv(name, "")
	}
	if r := ask("-m", "sim/native", "--budget-usd", "0.01"); r.code != cli.ExitOK || strings.Contains(r.errOut, "cost ") {
		t.Errorf("a simulated model costs nothing: exit %d, %s", r.code, r.errOut)
	}

	file := filepath.Join(dir, "prices.yaml")
	t.Setenv("TOOLPOST_MODELS", file)
	if err := os.WriteFile(file, fmt.Appendf(nil, "models:\n  %q: {native_tools: true, price: {input: 1000, output: 1000}}\n", id), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := ask("-m", id, "--budget-usd", "0.01"); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "the budget of $0.01 is used up: ") {
		t.Errorf("exit %d, %s", r.code, r.errOut)
	}
	r = toolpost(t, "", "run", "-c", "--budget-usd", "100")
	if r.code != cli.ExitOK || !strings.Contains(r.errOut, "cost    $") {
		t.Errorf("exit %d, %s", r.code, r.errOut)
	}
}

// TestCompaction: a conversation continues beyond the context window and reports the summary.
func TestCompaction(t *testing.T) {
	t.Setenv("TOOLPOST_STORE", filepath.Join(ownHome(t), "runs"))
	model := []string{"-m", "sim/recall+window=2500"}
	toolpost(t, "", append([]string{"run"}, append(model, "The gate code of Ada Byron is K-12.")...)...)
	said := ""
	for i := range 12 {
		r := toolpost(t, "", "run", "-c", strings.Repeat("we walked on under the trees and were glad. ", 20))
		if r.code != cli.ExitOK {
			t.Fatalf("turn %d: exit %d, %s", i, r.code, r.errOut)
		}
		said += r.errOut
	}
	r := toolpost(t, "", "run", "-c", "What is the gate code of Ada Byron?")
	if r.code != cli.ExitOK || !strings.Contains(r.out, "K-12") || !strings.Contains(said, "a summary replaces its oldest ") {
		t.Errorf("exit %d, %s%s\n%s", r.code, r.out, r.errOut, said)
	}
}
