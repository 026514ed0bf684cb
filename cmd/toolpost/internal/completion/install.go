package completion

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// place is where a shell looks for the completions of one person, and what makes the shell look there.
type place struct {
	file  func(home string) string
	write func(root *cobra.Command, w io.Writer) error
	then  string
}

var places = map[string]place{
	"bash": {
		func(home string) string {
			return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local/share")), "bash-completion/completions/toolpost")
		},
		func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"Open a new shell. It needs the package bash-completion.",
	},
	"zsh": {
		func(home string) string { return filepath.Join(home, ".zsh/completions/_toolpost") },
		func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"If ~/.zshrc has no such line yet, add: fpath=(~/.zsh/completions $fpath); autoload -U compinit; compinit\nThen open a new shell.",
	},
	"fish": {
		func(home string) string {
			return filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "fish/completions/toolpost.fish")
		},
		func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"Open a new shell.",
	},
}

// AddInstall gives the command completion of cobra a flag that writes the file of the person's shell.
func AddInstall(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "Complete commands, flags and models in your shell"
		cmd.Long = "Tab then completes commands, flags, models, tools and runs. --install writes the file that your shell reads; bash, zsh, fish and powershell print it."
		cmd.Example = "  toolpost completion --install\n  source <(toolpost completion bash)"
		shell := cmd.Flags().String("install", "", "write the file of your shell, or of this `SHELL`: bash, zsh or fish")
		cmd.Flags().Lookup("install").NoOptDefVal = "this"
		help := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if *shell == "" {
				return help(cmd, args)
			}
			return install(cmd, root, *shell)
		}
	}
}

// install writes the completions of a shell, "this" for the shell of the person.
func install(cmd, root *cobra.Command, shell string) error {
	if shell == "this" {
		shell = strings.TrimSuffix(filepath.Base(os.Getenv("SHELL")), ".exe")
	}
	at, ok := places[shell]
	if !ok {
		return cli.Usagef(cmd, "--install knows bash, zsh and fish; %q is none of them: name one, like --install=bash", cli.InOneLine(shell))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := at.write(root, &b); err != nil {
		return err
	}
	file := at.file(home)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := cli.ReplaceFile(file, b.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is written. %s\n", file, at.then)
	return err
}
