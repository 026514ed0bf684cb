// Package config holds the commands that check, show and change the configuration file.
package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Write, show, change and check the configuration",
		Long:    "Settings come from the configuration file, then from the environment, then from\nflags; the later wins. The file is strict: a key it does not know is an error.",
		Example: "  toolpost config init\n  toolpost config set model ollama/qwen3:8b\n  toolpost config check",
	}
	cmd.AddCommand(newConfigInit(), newConfigShow(), newConfigSet(), newConfigUnset(), newConfigPath(), newConfigCheck())
	return cmd
}

// ShownSetting is a setting in the output of config check --json.
type ShownSetting struct {
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
			s, err := settings.Load(cmd)
			if err != nil {
				return err
			}
			if err := checkFiles(&s.ToolOptions); err != nil {
				return err
			}
			return printSettings(s, cmd, asJSON)
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// checkFiles reads the files that the settings name, as run would.
func checkFiles(o *settings.ToolOptions) error {
	if info, err := os.Stat(o.Root); err != nil {
		return fmt.Errorf("root: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("root: %s is not a folder", o.Root)
	}
	if _, err := cli.UserCatalog(""); err != nil {
		return err
	}
	_, done, err := toolset.Open(o)
	if err == nil {
		done()
	}
	return err
}

func printSettings(s *settings.Settings, cmd *cobra.Command, asJSON bool) error {
	var rows []ShownSetting
	table := [][]string{}
	for _, row := range settings.Table {
		from := s.Sources[row.Key]
		if from == "" {
			from = "default"
		}
		shown := ShownSetting{row.Key, showSetting(row, s), from, row.Env}
		rows = append(rows, shown)
		value := shown.Value
		if value == "" {
			value = "-"
		}
		table = append(table, []string{row.Key, value, from})
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return cli.PrintJSON(out, rows)
	}
	if s.File == "" {
		file, _ := settings.File(cmd)
		fmt.Fprintf(out, "no configuration file; it would be %s\n", file)
	} else {
		fmt.Fprintf(out, "%s is fine\n", s.File)
	}
	return cli.PrintTable(out, "  ", table)
}

// showSetting formats a value for people.
func showSetting(row settings.Setting, s *settings.Settings) string {
	switch p := row.Value(s).(type) {
	case map[string]settings.ProviderConfig:
		return strings.Join(slices.Sorted(maps.Keys(p)), ", ")
	case map[string]settings.TaskConfig:
		return strings.Join(slices.Sorted(maps.Keys(p)), ", ")
	case map[string]config.ServerEntry:
		return strings.Join(slices.Sorted(maps.Keys(p)), ", ")
	case map[string]settings.ProgramEntry:
		return strings.Join(slices.Sorted(maps.Keys(p)), ", ")
	case fmt.Stringer:
		return p.String()
	case *[]string:
		return strings.Join(*p, ", ")
	case *int:
		return strconv.Itoa(*p)
	case *bool:
		return strconv.FormatBool(*p)
	case **float64:
		if *p != nil {
			return strconv.FormatFloat(**p, 'g', -1, 64)
		}
	case *string:
		return cli.FirstLine(settings.RedactAddress(*p), 60)
	}
	return ""
}
