package text

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// result is the output and the exit code of a command.
type result struct {
	code        int
	out, errOut string
}

// toolpost runs one of the commands of this package.
func toolpost(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	root := &cobra.Command{Use: "toolpost", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(NewParse(), NewExplain(), NewRepair(), NewValidate(), NewSchema())
	root.SetFlagErrorFunc(cli.WrongFlag)
	cli.WrapArgs(root)
	var out, errOut bytes.Buffer
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errOut)
	code := cli.UntilInterrupted(t.Context(), &errOut, root.ExecuteContext)
	return result{code, out.String(), errOut.String()}
}
