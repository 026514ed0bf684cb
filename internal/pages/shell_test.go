//go:build unix

package pages_test

import (
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pages"
)

// TestShell: a command finds the folder and the variables that the one before left, and
// one that prints something else than the document shows is an error.
func TestShell(t *testing.T) {
	s := &pages.Shell{Dir: t.TempDir(), Env: os.Environ(), Replace: strings.NewReplacer("there", "here")}
	for _, c := range []struct {
		command pages.Command
		wrong   string
	}{
		{pages.Command{Text: `mkdir "a b" && cd "a b" && export WORD="it's there"`}, ""},
		{pages.Command{Text: `pwd | grep -o 'a b$'; echo "$WORD"`, Output: []string{"a b", "it's there"}}, ""},
		{pages.Command{Text: "echo one", Output: []string{"two"}}, "shown:\ntwo\nreal:\none\n"},
		{pages.Command{Text: "echo one"}, "real:\none\n"},
		{pages.Command{Text: "echo one; echo; echo", Output: []string{"one"}}, "shown:\none\nreal:\none\n\n"},
		{pages.Command{Text: "false"}, "exit status 1"},
		{pages.Command{Text: "echo one; false", Output: []string{"…"}}, "exit status 1"},
		{pages.Command{Text: "echo one; false", Output: []string{"one"}}, ""},
		{pages.Command{Text: "exit 3", Output: []string{"one"}}, "it left no note"},
	} {
		err := s.Check(t.Context(), c.command)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", c.command.Text, err)
		}
	}
}
