package config

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

func newConfigShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [KEY]",
		Short: "Show the settings that hold, and where each comes from",
		Long: `Show the settings that hold here and now as a configuration file would have them, each
with its source; with KEY, the value of that one alone. Passwords, values of headers and
whatever else is secret are not shown.`,
		Example: "  toolpost config show\n  toolpost config show max_turns\n  toolpost config show --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rows := settings.Table
			if len(args) == 1 {
				row, err := settingNamed(cmd, args[0])
				if err != nil {
					return err
				}
				rows = []settings.Setting{row}
			}
			s, err := settings.Load(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return printSettingsJSON(s, cmd.OutOrStdout(), rows)
			}
			if len(args) == 1 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimPrefix(shownYAML(s, rows[0]), rows[0].Key+": "))
				return err
			}
			w := bufio.NewWriter(cmd.OutOrStdout())
			writeSettings(s, w, rows)
			return w.Flush()
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// writeSettings prints settings with their sources. A source follows the first line of its setting, aligned in one
// column where lines are short enough.
func writeSettings(s *settings.Settings, w io.Writer, rows []settings.Setting) {
	const narrow, wide = 28, 60
	texts, column := make([]string, len(rows)), narrow
	for i, row := range rows {
		texts[i] = shownYAML(s, row)
		first, _, _ := strings.Cut(texts[i], "\n")
		if n := len(first); n <= wide {
			column = max(column, n)
		}
	}
	for i, row := range rows {
		first, rest, more := strings.Cut(texts[i], "\n")
		fmt.Fprintf(w, "%-*s # %s\n", column, first, cmp.Or(s.Sources[row.Key], "default"))
		if more {
			fmt.Fprintln(w, rest)
		}
	}
}

// hiddenValue replaces secret values in the output.
const hiddenValue = "[hidden]"

// publicValue returns a setting without secrets, as a value for YAML and JSON. It is nil if the setting is not set.
func publicValue(s *settings.Settings, row settings.Setting) any {
	switch p := row.Value(s).(type) {
	case map[string]settings.ProviderConfig:
		out := yaml.MapSlice{}
		for _, name := range slices.Sorted(maps.Keys(p)) {
			out = append(out, yaml.MapItem{Key: name, Value: publicProvider(p[name])})
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case map[string]settings.TaskConfig:
		out := yaml.MapSlice{}
		for _, name := range slices.Sorted(maps.Keys(p)) {
			clean, _ := s.Secrets().Redact(p[name].Task)
			out = append(out, yaml.MapItem{Key: name, Value: yaml.MapSlice{{Key: "task", Value: clean}}})
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case settings.LimitsConfig:
		return cmp.Or(p.String(), "the defaults")
	case *time.Duration:
		return p.String()
	case **float64:
		if *p == nil {
			return nil
		}
		return **p
	case *[]string:
		return *p
	case *string:
		if *p == "" {
			return nil
		}
		clean, _ := s.Secrets().Redact(settings.RedactAddress(*p))
		return clean
	default:
		return plainValue(p)
	}
}

func publicProvider(p settings.ProviderConfig) yaml.MapSlice {
	out := yaml.MapSlice{}
	for _, row := range []struct{ key, value string }{{"base_url", settings.RedactAddress(p.BaseURL)}, {"like", p.Like}, {"region", p.Region}, {"project", p.Project}, {"endpoint", settings.RedactAddress(p.Endpoint)}} {
		if row.value != "" {
			out = append(out, yaml.MapItem{Key: row.key, Value: row.value})
		}
	}
	if p.Wire != "" {
		out = append(out, yaml.MapItem{Key: "wire", Value: p.Wire})
	}
	if p.KeyEnv != "" {
		state := "not set"
		if os.Getenv(p.KeyEnv) != "" {
			state = "set"
		}
		out = append(out, yaml.MapItem{Key: "key_env", Value: p.KeyEnv + " (" + state + ")"})
	}
	if len(p.Headers) > 0 {
		headers := yaml.MapSlice{}
		for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
			headers = append(headers, yaml.MapItem{Key: name, Value: hiddenValue})
		}
		out = append(out, yaml.MapItem{Key: "headers", Value: headers})
	}
	return out
}

// shownYAML formats a setting as in a configuration file.
func shownYAML(s *settings.Settings, row settings.Setting) string {
	v := publicValue(s, row)
	if v == nil {
		return row.Key + ":"
	}
	if list, ok := v.([]string); ok {
		return row.Key + ": [" + strings.Join(list, ", ") + "]"
	}
	b, err := yaml.Marshal(yaml.MapSlice{{Key: row.Key, Value: v}})
	if err != nil {
		return row.Key + ": " + hiddenValue
	}
	return cli.Printable(strings.TrimSuffix(string(b), "\n"))
}

// PublicSetting is a setting in the output of config show --json.
type PublicSetting struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  string `json:"from"`
}

func printSettingsJSON(s *settings.Settings, out io.Writer, rows []settings.Setting) error {
	all := []PublicSetting{}
	for _, row := range rows {
		all = append(all, PublicSetting{row.Key, jsonValue(publicValue(s, row)), cmp.Or(s.Sources[row.Key], "default")})
	}
	return cli.PrintJSON(out, all)
}

// jsonValue turns the ordered maps of YAML into objects.
func jsonValue(v any) any {
	m, ok := v.(yaml.MapSlice)
	if !ok {
		return v
	}
	out := make(map[string]any)
	for _, item := range m {
		out[fmt.Sprint(item.Key)] = jsonValue(item.Value)
	}
	return out
}
