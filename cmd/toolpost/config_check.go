package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Write, show, change and check the configuration",
		Long:    "Settings come from the configuration file, then from the environment, then from\nflags; the later wins. The file is strict: a key it does not know is an error.",
		Example: "  toolpost config init\n  toolpost config set model ollama/qwen3:8b\n  toolpost config check",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigInit(), newConfigShow(), newConfigSet(), newConfigUnset(), newConfigPath(), newConfigCheck())
	return cmd
}

// shownSetting is a setting in the output of config check --json.
type shownSetting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"` // a file, a variable, a flag or "default"
	Env   string `json:"env,omitempty"`
}

func newConfigCheck() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show every setting and where it comes from, or the line that is wrong",
		Long: `Read the configuration file, the environment and the files they name as run would, and
show every setting with its source. A mistake is named with its file and line.`,
		Example: "  toolpost config check\n  toolpost config check --config ./toolpost.yaml --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			if err := s.checkFiles(); err != nil {
				return err
			}
			return s.print(cmd, asJSON)
		},
	}
	cmd.Flags().String("config", "", "`FILE` to read in place of your config.yaml")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// checkFiles reads the files that the settings name, as run would.
func (s *settings) checkFiles() error {
	if info, err := os.Stat(s.Root); err != nil {
		return fmt.Errorf("root: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("root: %s is no folder", s.Root)
	}
	if _, err := cli.UserCatalog(""); err != nil {
		return err
	}
	_, done, err := s.toolSet()
	if err == nil {
		done()
	}
	return err
}

func (s *settings) print(cmd *cobra.Command, asJSON bool) error {
	var rows []shownSetting
	table := [][]string{}
	for _, row := range settingTable {
		from := s.from[row.key]
		if from == "" {
			from = "default"
		}
		shown := shownSetting{row.key, row.show(s), from, row.env}
		rows = append(rows, shown)
		value := shown.Value
		if value == "" {
			value = "-"
		}
		table = append(table, []string{row.key, value, from})
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return cli.PrintJSON(out, rows)
	}
	if s.file == "" {
		file, _ := configFile(cmd)
		fmt.Fprintf(out, "no configuration file; it would be %s\n", file)
	} else {
		fmt.Fprintf(out, "%s is fine\n", s.file)
	}
	return cli.PrintTable(out, "  ", table)
}
