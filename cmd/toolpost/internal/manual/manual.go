// Package manual writes manual pages of the commands.
package manual

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// New returns the command man.
func New() *cobra.Command {
	var dir string
	var install bool
	cmd := &cobra.Command{
		Use:   "man [COMMAND]...",
		Short: "Print a manual page, or write all of them into a folder",
		Long: `Prints the manual page of toolpost or of one of its commands. --out writes a page for
each command, named like toolpost-models-show.1. --install writes them where man finds them.`,
		Example: `  toolpost man run | man -l -
  toolpost man --install`,
		Args: cobra.ArbitraryArgs, // RunE checks them
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if install {
				home, err := os.UserHomeDir()
				if err != nil {
					return err
				}
				dir = filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local/share")), "man/man1")
			}
			if dir != "" {
				return writeAll(cmd, root, dir)
			}
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return cli.UnknownCommand(cmd, found, cmp.Or(strings.Join(rest, " "), strings.Join(args, " ")))
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), Page(found))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "out", "", "write all pages into this `FOLDER`")
	cmd.Flags().BoolVar(&install, "install", false, "write all pages where man finds them: ~/.local/share/man/man1")
	cmd.MarkFlagsMutuallyExclusive("out", "install")
	return cmd
}

func writeAll(cmd, root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	n := 0
	var write func(*cobra.Command) error
	write = func(c *cobra.Command) error {
		if c.Hidden {
			return nil
		}
		n++
		if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1"), []byte(Page(c)), 0o644); err != nil {
			return err
		}
		for _, sub := range c.Commands() {
			if err := write(sub); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write(root); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%d pages written to %s\n", n, cli.InOneLine(dir))
	return err
}

// pageName returns the name of a command's page.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// Page returns the manual page of a command in the language of troff.
func Page(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"toolpost %s\" \"Toolpost\"\n", quoted(strings.ToUpper(pageName(c))), buildinfo.Read().Version)
	section := func(name string) { fmt.Fprintf(&b, ".SH %s\n", name) }
	section("NAME")
	b.WriteString(escaped(pageName(c)+" - "+c.Short) + "\n")
	section("SYNOPSIS")
	b.WriteString(".nf\n" + escaped(c.UseLine()) + "\n.fi\n")
	if c.Long != "" {
		section("DESCRIPTION")
		for i, paragraph := range strings.Split(strings.TrimSpace(c.Long), "\n\n") {
			if i > 0 {
				b.WriteString(".PP\n")
			}
			b.WriteString(escaped(paragraph) + "\n")
		}
	}
	if c.HasAvailableSubCommands() {
		section("COMMANDS")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", escaped(sub.Name()), escaped(sub.Short))
			}
		}
	}
	flags(&b, "OPTIONS", c.NonInheritedFlags())
	flags(&b, "GLOBAL OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		section("EXAMPLES")
		b.WriteString(".nf\n" + escaped(c.Example) + "\n.fi\n")
	}
	if c.HasParent() {
		section("SEE ALSO")
		fmt.Fprintf(&b, ".BR %s (1)\n", escaped(pageName(c.Parent())))
	}
	return b.String()
}

// flags writes a section with the flags of a set, if it has any.
func flags(b *strings.Builder, name string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", name)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escaped(strings.TrimSpace(names+" "+value)), escaped(usage))
	})
}

// escaped returns a text without meaning for troff: backslashes, hyphens, characters beyond ASCII, and lines that begin
// with a dot or an apostrophe.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	var ascii strings.Builder
	for _, r := range text {
		if r < 0x80 {
			ascii.WriteRune(r)
		} else {
			fmt.Fprintf(&ascii, `\[u%04X]`, r)
		}
	}
	lines := strings.Split(ascii.String(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func quoted(text string) string { return `"` + escaped(text) + `"` }
