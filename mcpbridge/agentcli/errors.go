package agentcli

import (
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// The codes of errors that have none of the program's own.
const (
	codeNoResult = "agent-sdk-no-result"
	codeOutside  = "outside-the-bridge"
	codeExit     = "runtime-query-process-exit"
	codeError    = "runtime-query-error"
)

// failures are what a program's words say about what went wrong, in the order in which
// they are looked for.
var failures = []struct {
	code  string
	kind  llm.Kind
	words []string
}{
	{"runtime-query-quota-exhausted", llm.RateLimited, []string{"quota", "usage limit", "credit balance", "billing", "rate limit", "429", "hit your limit", "limit reached"}},
	{"runtime-query-auth-failed", llm.Auth, []string{"auth", "api key", "unauthorized", "forbidden", "login"}},
	{"runtime-query-session-missing", llm.NotFound, []string{"no conversation found", "session not found", "resume"}},
	{codeExit, llm.Unknown, []string{"process exited with code"}},
}

// classify returns the code and kind of an error of which the program said text.
func classify(text string) (string, llm.Kind) {
	text = strings.ToLower(text)
	for _, f := range failures {
		for _, w := range f.words {
			if strings.Contains(text, w) {
				return f.code, f.kind
			}
		}
	}
	return codeError, llm.Unknown
}
