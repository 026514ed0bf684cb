package mcp

import (
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// TestAudit reads the definitions of the servers from npm as a model does, and prints
// what it finds.
func TestAudit(t *testing.T) {
	var defs []llm.ToolDef
	var servers []config.ServerConfig
	for _, name := range []string{"everything", "filesystem", "memory"} {
		args := []string{program(t, "server-"+name)}
		if name == "filesystem" {
			args = append(args, t.TempDir())
		}
		servers = append(servers, config.ServerConfig{Name: name, Command: "node", Args: args})
	}
	s, err := client.Open(client.Options{Wait: time.Minute}, servers...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, one := range servers {
		listed, _ := s.Definitions(one.Name)
		if len(listed) == 0 {
			t.Fatalf("%s has no tools", one.Name)
		}
		for _, d := range listed {
			defs = append(defs, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: d.Input})
		}
	}
	began := time.Now()
	reports := tool.Audit(defs)
	took := time.Since(began)
	if len(reports) != len(defs) {
		t.Fatalf("%d reports of %d tools", len(reports), len(defs))
	}
	sum, rules := 0.0, make(map[string]int)
	for _, r := range reports {
		sum += r.Score
		for _, f := range r.Findings {
			rules[f.Rule]++
			if f.Problem == "" || f.Fix == "" {
				t.Errorf("%s: %s says nothing", r.Tool, f.Rule)
			}
			if strings.Contains(f.Rule, "broken-schema") {
				t.Errorf("%s: %s", r.Tool, f.Problem)
			}
		}
	}
	t.Logf("%d tools in %s, %.2f on average; findings %v", len(defs), took.Round(time.Millisecond), sum/float64(len(reports)), rules)
}
