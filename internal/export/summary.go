package export

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/journal"
)

// hashOf is the hash of a file.
func hashOf(b []byte) journal.Hash {
	sum := sha256.Sum256(b)
	return journal.Hash("sha256:" + hex.EncodeToString(sum[:]))
}

// summary returns PR_SUMMARY.md.
func (w *writer) summary() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Run %s\n\n", w.run)
	if w.Full && w.start.Task != "" {
		fmt.Fprintf(&b, "%s\n\n", quote(w.start.Task))
	}
	fmt.Fprintf(&b, "%s, %s to %s", statusA(w.status()), w.begun.UTC().Format("2006-01-02 15:04:05"), w.ended.UTC().Format("15:04:05 MST"))
	fmt.Fprintf(&b, ", %d tool calls in %d ms.\n", len(w.calls), w.latency())
	w.summariseCalls(&b)
	w.summariseEffects(&b)
	if len(w.verifications) > 0 {
		b.WriteString("\n## Verification\n\n| command | exit code |\n|---|---|\n")
		for _, v := range w.verifications {
			fmt.Fprintf(&b, "| `%s` | %d |\n", cell(v.Command), v.ExitCode)
		}
	}
	state := "sealed"
	if !w.sealed {
		state = "**open**: it may go on, and entries may be missing at its end"
	}
	fmt.Fprintf(&b, "\n## Record\n\n%d entries, %s; head `%s`.\nCheck with `toolpost receipts verify .` in this directory.\n", w.entries, state, w.head)
	return []byte(b.String())
}

func (w *writer) summariseCalls(b *strings.Builder) {
	if len(w.calls) == 0 {
		return
	}
	byTool := make(map[string]map[journal.Status]int)
	for _, c := range w.calls {
		if byTool[c.Tool] == nil {
			byTool[c.Tool] = make(map[journal.Status]int)
		}
		byTool[c.Tool][c.Status]++
	}
	order := []journal.Status{journal.OK, journal.Failed, journal.Refused, journal.Abandoned, journal.Unknown}
	b.WriteString("\n## Calls\n\n| tool | ok | failed | refused | abandoned | outcome unknown |\n|---|---|---|---|---|---|\n")
	for _, tool := range slices.Sorted(maps.Keys(byTool)) {
		fmt.Fprintf(b, "| %s |", cell(tool))
		for _, status := range order {
			fmt.Fprintf(b, " %d |", byTool[tool][status])
		}
		b.WriteByte('\n')
	}
}

func (w *writer) summariseEffects(b *strings.Builder) {
	count := make(map[string]int)
	var lines []string
	for _, c := range w.calls {
		for _, e := range c.SideEffects {
			count[e.Type]++
			lines = append(lines, fmt.Sprintf("- %s `%s` (%s)", cell(e.Type), cell(e.Path), cell(c.Tool)))
		}
	}
	if len(count) == 0 {
		return
	}
	b.WriteString("\n## Side effects\n\n")
	if w.Full {
		slices.Sort(lines)
		b.WriteString(strings.Join(slices.Compact(lines), "\n") + "\n")
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(b, "- %s: %d\n", cell(kind), count[kind])
	}
}

// cell makes text fit into a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ", "`", "'").Replace(s)
}

// quote makes text a block quote.
func quote(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n> ")
}
