package agents

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// columns are the tasks of the table. Those with a / are tried over each upstream.
var columns = []string{"read", "four reads", "edit", "shell", "failing tool", "10 rounds", "resume", "interruption", "image", "mcp", "sub-agent"}

// cells is the table of agents and tasks.
type cells struct {
	mu   sync.Mutex
	rows map[string]map[string]string // agent, task: "" or what was wrong
}

// set fills a cell. A task that the agent is known not to do, with a reason, fails nothing; one that works although it
// has a reason does.
func (c *cells) set(t *testing.T, a agent, name string, ok bool, why string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows[a.name] == nil {
		c.rows[a.name] = map[string]string{}
	}
	plain, _, _ := strings.Cut(name, "/")
	reason := a.cannot[name]
	if reason == "" {
		reason = a.cannot[plain]
	}
	state := "ok"
	switch {
	case !ok && reason != "":
		state = reason
	case !ok:
		state = "FAILED"
		t.Errorf("%s: %s: %s", a.name, name, why)
	case reason != "":
		t.Errorf("%s: %s works, though it is said: %s", a.name, name, reason)
	}
	c.rows[a.name][name] = state
}

// cannot fills a cell of a task that an agent does not have.
func (c *cells) cannot(a agent, name string) bool {
	reason := a.lacks[name]
	if reason == "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows[a.name] == nil {
		c.rows[a.name] = map[string]string{}
	}
	c.rows[a.name][name] = reason
	return true
}

// print prints the table: for each agent the tasks that work, over how many of the upstreams, and the reasons for the others.
func (c *cells) print(t *testing.T) {
	var b strings.Builder
	b.WriteString("| agent | " + strings.Join(columns, " | ") + " |\n|---" + strings.Repeat("|---", len(columns)) + "|\n")
	var reasons []string
	for _, a := range agents {
		row := c.rows[a.name]
		if row == nil {
			continue
		}
		b.WriteString("| " + a.name)
		for _, col := range columns {
			done, all, last := 0, 0, ""
			for _, name := range append([]string{col}, over(a, col)...) {
				state, ok := row[name]
				if !ok {
					continue
				}
				if all++; state == "ok" {
					done++
				} else if last = state; true {
					if line := fmt.Sprintf("- %s, %s: %s", a.name, strings.Replace(name, "/", " over ", 1), state); !slices.Contains(reasons, line) {
						reasons = append(reasons, line)
					}
				}
			}
			switch {
			case all == 0:
				b.WriteString(" | ")
			case all > 1:
				fmt.Fprintf(&b, " | %d of %d", done, all)
			case last == "":
				b.WriteString(" | yes")
			default:
				b.WriteString(" | no")
			}
		}
		b.WriteString(" |\n")
	}
	b.WriteString("\n" + strings.Join(reasons, "\n") + "\n")
	t.Log("\n" + b.String())
	if file := os.Getenv("TOOLPOST_AGENTS_TABLE"); file != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func over(a agent, col string) (names []string) {
	for _, up := range upstreams(a.format) {
		names = append(names, col+"/"+up.name)
	}
	return names
}
