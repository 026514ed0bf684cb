package view

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
)

// facts are the parts of an answer that can be compared with results: addresses, paths of files, numbers of at least
// three digits or with a fraction, and names like parse_config.
var facts = regexp.MustCompile(`https?://[^\s)>\]"'` + "`" + `]+|[\w./-]*\w\.(?:go|py|js|ts|md|txt|json|ya?ml|toml|csv|html|css|sh|c|h|rs|java|rb|sql|log|ini|conf)\b|\b\d[\d,]*\.\d+|\b\d[\d,]{2,}|\b[a-z]+(?:_[a-z0-9]+)+\b`)

// Limits of what is shown of results after an answer that strays from them.
const (
	maxUnfounded   = 5  // facts
	maxResultLines = 12 // of one result
	maxResults     = 3
	maxResultWidth = 200
)

// Unfounded returns the lines that follow the last answer of a conversation if it states facts that neither the results
// nor anything else before the answer has: the facts, and the results themselves. It returns nil for an answer that
// follows no result of its turn.
func Unfounded(messages []llm.Message) []string {
	answer, before, results := lastAnswer(messages)
	if len(results) == 0 {
		return nil
	}
	var missing []string
	for _, fact := range facts.FindAllString(answer, -1) {
		fact = strings.TrimRight(fact, ".,;:!?/")
		if !slices.Contains(missing, fact) && !stated(before, fact) {
			missing = append(missing, fact)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	more := ""
	if n := len(missing) - maxUnfounded; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	lines := []string{"not in any result: " + cli.InOneLine(strings.Join(missing[:min(len(missing), maxUnfounded)], ", ")) + more + "; the answer above is in the model's own words. The result itself:"}
	for _, r := range results[max(0, len(results)-maxResults):] {
		lines = append(lines, resultLines(r))
	}
	return lines
}

// lastAnswer returns the last answer, the text of everything before it, and the results since the last request.
func lastAnswer(messages []llm.Message) (answer, before string, results []llm.Result) {
	n := len(messages) - 1
	if n < 0 || messages[n].Role != llm.RoleAssistant || len(messages[n].Calls()) > 0 {
		return "", "", nil
	}
	var known strings.Builder
	for _, m := range messages[:n] {
		known.WriteString(m.Text() + "\n")
		if m.Role == llm.RoleUser && strings.TrimSpace(m.Text()) != "" {
			results = nil
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Result:
				known.WriteString(p.Text() + "\n")
				if !p.Failed {
					results = append(results, p)
				}
			case llm.Call:
				known.WriteString(p.Name + " " + string(p.Args) + "\n")
			}
		}
	}
	return messages[n].Text(), known.String(), results
}

// stated reports whether a text has a fact. Separators of thousands and the case of letters do not count.
func stated(text, fact string) bool {
	plain := strings.NewReplacer(",", "", "\u00a0", "", " ", "").Replace
	return strings.Contains(strings.ToLower(text), strings.ToLower(fact)) || strings.Contains(plain(text), plain(fact)) ||
		fact[0] >= '0' && fact[0] <= '9' && rounded(text, plain(fact))
}

var numeral = regexp.MustCompile(`\d+\.\d+`)

// rounded reports whether a text has a number with more digits than the given one.
func rounded(text, number string) bool {
	stem := strings.TrimRight(number, "0.")
	if len(stem) > 1 {
		stem = stem[:len(stem)-1] // the last digit is rounded
	}
	return slices.ContainsFunc(numeral.FindAllString(text, -1), func(n string) bool {
		return len(n) > len(number) && strings.HasPrefix(n, stem)
	})
}

// resultLines shows the beginning of a result.
func resultLines(r llm.Result) string {
	lines := strings.Split(strings.TrimRight(r.Text(), "\n"), "\n")
	rest := len(lines) - maxResultLines
	if rest > 0 {
		lines = lines[:maxResultLines]
	}
	for i, line := range lines {
		lines[i] = "  " + cli.FirstLine(cli.Printable(line), maxResultWidth)
	}
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("  … %s more", cli.Count(rest, "line")))
	}
	return cli.InOneLine(r.Name) + ":\n" + strings.Join(lines, "\n")
}
