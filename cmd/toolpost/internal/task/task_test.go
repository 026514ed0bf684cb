package task

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/llm"
)

// TestStandardInputKeepsItsOrigin: standard input is a document, unless it is the whole task.
func TestStandardInputKeepsItsOrigin(t *testing.T) {
	for _, c := range []struct {
		words, files []string
		stdin, want  string
	}{
		{[]string{"Go", "on"}, nil, "", `"Go on" `},
		{[]string{"-"}, nil, " the task\n", `"the task" `},
		{nil, nil, "the task", `"the task" `},
		{[]string{"Read:", "-"}, nil, "a page\n", `"Read:" , " a page" document`},
		{[]string{"-", "says what?"}, nil, "\n a page ", `"a page " document, " says what?" `},
		{[]string{"Read", "-", "well", "now"}, nil, "a page", `"Read" , " a page" document, " well now" `},
		{[]string{"Read", "-"}, nil, " \n", `"Read" `},
		{[]string{"Read"}, nil, "a page", `"Read" , "\n\nThe content of standard input:\n` + "```\\na page\\n```" + `" document`},
		{[]string{"Read"}, []string{"-"}, "a page", `"Read" , "\n\nThe content of standard input:\n` + "```\\na page\\n```" + `" document`},
	} {
		cmd := new(cobra.Command)
		cmd.SetContext(t.Context())
		cmd.SetIn(strings.NewReader(c.stdin))
		msg, err := Read(cmd, c.words, c.files, false)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, p := range msg.Parts {
			part := p.(llm.Text)
			parts = append(parts, fmt.Sprintf("%q %s", part.Text, part.Origin))
		}
		if got := strings.Join(parts, ", "); got != c.want {
			t.Errorf("%q, files %q, and %q:\n%s\nwant\n%s", c.words, c.files, c.stdin, got, c.want)
		}
	}
}
