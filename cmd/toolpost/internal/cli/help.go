package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
)

// helpWidth is the width of help, which every terminal has.
const helpWidth = 80

// AddHelp sets the help of a command and its subcommands, which fits 80 columns.
func AddHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		writeHelp(cmd.OutOrStdout(), cmd)
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usage(cmd))
		return err
	})
}

func writeHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n\n%s", filled(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))), usage(cmd))
}

// filled wraps the paragraphs of a text. Paragraphs with indented lines keep their lines.
func filled(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.Contains("\n"+p, "\n ") {
			p = strings.ReplaceAll(p, "\n", " ")
		}
		lines := strings.Split(p, "\n")
		for j, line := range lines {
			lines[j] = strings.Join(fill(line, helpWidth), "\n")
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// fill breaks a text at spaces into lines of at most width cells, if its words are not longer.
func fill(text string, width int) []string {
	var lines []string
	for ansi.StringWidth(text) > width {
		at := 0 // the last space that fits
		for i, r := range text {
			if r == ' ' && i > 0 && (at == 0 || ansi.StringWidth(text[:i]) <= width) && strings.TrimSpace(text[:i]) != "" {
				at = i
			}
		}
		if at == 0 {
			break
		}
		lines, text = append(lines, text[:at]), text[at+1:]
	}
	return append(lines, text)
}

// folded returns examples with lines that fit. A long command continues after a backslash.
func folded(examples string) string {
	lines := strings.Split(examples, "\n")
	for i, line := range lines {
		var parts []string
		for ansi.StringWidth(line) > helpWidth {
			at := lastBreak(line, helpWidth-2)
			if at == 0 {
				break
			}
			parts = append(parts, line[:at]+" \\")
			line = "      " + line[at+1:]
		}
		lines[i] = strings.Join(append(parts, line), "\n")
	}
	return strings.Join(lines, "\n")
}

// lastBreak returns the place of the last space of a command before a column that is outside quotes, 0 if there is none.
// A break before a flag is better than one before its value.
func lastBreak(line string, column int) int {
	var quote rune
	any, flag := 0, 0
	indent := len(line) - len(strings.TrimLeft(line, " "))
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == ' ' && i > indent && ansi.StringWidth(line[:i]) <= column:
			any = i
			if rest := line[i+1:]; strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "| ") {
				flag = i
			}
		}
	}
	if flag > 0 {
		return flag
	}
	return any
}

// usage returns the forms, examples, subcommands and flags of a command.
func usage(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:")
	if cmd.Runnable() {
		b.WriteString("\n  " + strings.Join(fill(cmd.UseLine(), helpWidth-6), "\n      "))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n  " + cmd.CommandPath() + " [command]")
	}
	if cmd.HasExample() {
		b.WriteString("\n\nExamples:\n" + folded(cmd.Example))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				b.WriteString("\n  " + hanging(fmt.Sprintf("%-*s ", sub.NamePadding(), sub.Name()), sub.Short))
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\n\nFlags:\n" + strings.TrimRight(cmd.LocalFlags().FlagUsagesWrapped(helpWidth), "\n "))
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\n\nGlobal Flags:\n" + strings.TrimRight(cmd.InheritedFlags().FlagUsagesWrapped(helpWidth), "\n "))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
	}
	return b.String() + "\n"
}

// hanging returns a term and its text, whose further lines begin below the first.
func hanging(term, text string) string {
	return term + strings.Join(fill(text, helpWidth-2-len(term)), "\n  "+strings.Repeat(" ", len(term)))
}
