package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// newConfigPath returns the command that prints the path of the configuration file, for programs and editors.
func newConfigPath() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "path",
		Short:   "Print the name of the configuration file, whether it is there or not",
		Example: "  toolpost config path",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := settings.OwnFile(cmd)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), file)
			return err
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	return cmd
}

func newConfigInit() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration file that explains every setting",
		Long: `Write a configuration file in which every setting is explained and switched off by a #.
A file that is there is left alone, unless --force.`,
		Example: "  toolpost config init\n  toolpost config init --config ./toolpost.yaml --force",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := settings.OwnFile(cmd)
			if err != nil {
				return err
			}
			if _, err := os.Lstat(file); err == nil && !force {
				return fmt.Errorf("%s is there already; --force writes over it", file)
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				return err
			}
			if err := cli.ReplaceFile(file, []byte(configTemplate()), 0o600); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), file)
			return err
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	return cmd
}

// configTemplate returns a file with all settings as commented examples.
func configTemplate() string {
	var b strings.Builder
	b.WriteString("# Settings of toolpost. Take away a # to set one; 'toolpost config check' looks at the file.\n# Keys of vendors do not belong here: they are read from the environment.\n")
	for _, row := range settings.Table {
		fmt.Fprintf(&b, "\n# %s\n", strings.ToUpper(row.Help[:1])+row.Help[1:]+".")
		for line := range strings.Lines(ExampleOf(row)) {
			b.WriteString("#" + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return b.String()
}

// sections are examples of settings with sections.
var sections = map[string]string{
	"tasks":          "tasks:\n  review:                       # run @review FILE\n    task: Read {1} and list what could be clearer.\n    model: ollama/qwen3:8b",
	"mcp_servers":    "mcp_servers:\n  files:                        # its tools are files__read_file and so on\n    command: npx\n    args: [-y, \"@modelcontextprotocol/server-filesystem\", .]\n    # type, env, envFile, cwd, url, headers, protocol, connect_timeout, call_timeout, tools, trust, enabled: docs/mcp.md",
	"gateway":        "gateway:\n  addr: 127.0.0.1:8230\n  routes:\n    - model: fast               # what clients ask for; names may end in *\n      to: [{model: ollama/qwen3:8b, weight: 1}]\n      # from, fallback, check: docs/gateway.md",
	"providers":      "providers:\n  gpu:                          # -m gpu/MODEL\n    base_url: http://gpu.example.org:8000/v1\n    wire: chat\n    key_env: GPU_KEY            # the variable that holds its key",
	"agent_programs": "agent_programs:\n  codex:                        # -m agent/codex\n    format: codex               # or claude\n    command: codex\n    env: {PATH: \"${PATH}\", HOME: \"${HOME}\"}\n    # args, cwd, settings, bridge, max_turns: docs/agent-programs.md",
}

// ExampleOf returns a setting as a file may set it.
func ExampleOf(row settings.Setting) string {
	return cmp.Or(sections[row.Key], row.Key+": "+row.Example)
}

func newConfigSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Change one setting in the configuration file",
		Long: `Write a setting into the configuration file, which is made if it is not there. Everything
else in the file stays as it is, comments too. Items of a list are separated by commas.
A value that no command would take is refused, and nothing is written.`,
		Example: "  toolpost config set model ollama/qwen3:8b\n  toolpost config set allow write,exec\n  toolpost config set max_turns 40",
		Args:    cobra.ExactArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return setConfig(cmd, args[0], &args[1]) },
	}
	cli.AddConfigFlag(cmd.Flags())
	return cmd
}

func newConfigUnset() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "unset KEY",
		Short:   "Take one setting out of the configuration file",
		Example: "  toolpost config set max_turns 40\n  toolpost config unset max_turns",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return setConfig(cmd, args[0], nil) },
	}
	cli.AddConfigFlag(cmd.Flags())
	return cmd
}

// setConfig changes one setting of the file. A nil value removes it.
func setConfig(cmd *cobra.Command, key string, value *string) error {
	row, err := settingNamed(cmd, key)
	if err != nil {
		return err
	}
	file, err := settings.OwnFile(cmd)
	if err != nil {
		return err
	}
	if value != nil && row.Env == "" {
		return cli.Usagef(cmd, "%s has parts of its own; write it into %s", key, file)
	}
	old, err := cli.ReadBounded(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := withSetting([]byte(old), row, value)
	if err != nil {
		var wrong cli.UsageError
		if errors.As(err, &wrong) {
			return cli.Usagef(cmd, "%s: %w", key, wrong.Err)
		}
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return cli.ReplaceFile(file, text, 0o600)
}

func settingNamed(cmd *cobra.Command, key string) (settings.Setting, error) {
	names := make([]string, len(settings.Table))
	for i, row := range settings.Table {
		if row.Key == key {
			return row, nil
		}
		names[i] = row.Key
	}
	return settings.Setting{}, cli.Usagef(cmd, "there is no setting %s%s", key, cli.DidYouMean(key, names))
}

// withSetting returns the text of a configuration file with one setting changed. It edits the text, which keeps
// comments. It then parses the result to make sure that no other setting changed.
func withSetting(old []byte, row settings.Setting, value *string) ([]byte, error) {
	before, err := settings.DecodeFile(old)
	if err != nil {
		return nil, err
	}
	want := before
	var line string
	if value != nil {
		if err := row.Set(&want, *value); err != nil {
			return nil, cli.UsageError{Err: err}
		}
		checked := want
		checked.Sources = map[string]string{row.Key: "the value"}
		if row.Key != "max_turns" {
			checked.MaxTurns = cmp.Or(checked.MaxTurns, settings.DefaultTurns)
		}
		if err := checked.Check(); err != nil {
			return nil, cli.UsageError{Err: err}
		}
		if line, err = inOneYAMLLine(row.Key, plainValue(row.Value(&want))); err != nil {
			return nil, err
		}
	}
	text := replaceSetting(string(old), row.Key, line)
	after, err := settings.DecodeFile([]byte(text))
	if err != nil {
		return nil, err
	}
	for _, other := range settings.Table {
		same := reflect.DeepEqual(other.Value(&after), other.Value(&want))
		if other.Key != row.Key && !same || other.Key == row.Key && value != nil && !same {
			return nil, fmt.Errorf("%s cannot be changed without changing %s; write it into the file yourself", row.Key, other.Key)
		}
	}
	return []byte(text), nil
}

// inOneYAMLLine formats a key and its value in one line.
func inOneYAMLLine(key string, value any) (string, error) {
	list, is := value.([]string)
	if !is {
		b, err := yaml.MarshalWithOptions(yaml.MapSlice{{Key: key, Value: value}}, yaml.UseLiteralStyleIfMultiline(false))
		return strings.TrimSpace(string(b)), err
	}
	b, err := yaml.MarshalWithOptions(list, yaml.Flow(true))
	return key + ": " + strings.TrimSpace(string(b)), err
}

// plainValue returns a setting as YAML writes it.
func plainValue(p any) any {
	if d, ok := p.(interface{ String() string }); ok {
		return d.String()
	}
	return reflect.Indirect(reflect.ValueOf(p)).Interface()
}

// replaceSetting replaces a key and its value with line. A new key goes after its commented example, or to the end. An
// empty line removes the key.
func replaceSetting(text, key, line string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	from := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") })
	to := from + 1
	switch {
	case from >= 0:
		for to < len(lines) && belongs(lines[to]) {
			to++
		}
		if comment := trailingComment(lines[from]); line != "" && comment != "" {
			line += " " + comment
		}
	case line == "":
		return text
	default:
		if from = slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#"+key+":") }) + 1; from == 0 {
			from = len(lines)
		}
		to = from
	}
	var put []string
	if line != "" {
		put = []string{line}
	}
	return strings.Join(slices.Replace(lines, from, to, put...), "\n") + "\n"
}

// belongs reports whether a line continues the value of the key above it.
func belongs(line string) bool {
	return line != "" && (line[0] == ' ' || line[0] == '\t' || strings.HasPrefix(line, "- ") || line == "-" || line[0] == ']' || line[0] == '}')
}

// trailingComment returns the comment at the end of a line. It ignores values with quotes, which might contain a #.
func trailingComment(line string) string {
	i := strings.Index(line, " #")
	if i < 0 || strings.ContainsAny(line[:i], `"'`) {
		return ""
	}
	return strings.TrimSpace(line[i:])
}
