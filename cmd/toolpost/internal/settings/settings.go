// Package settings declares the configuration and reads it from file, environment and flags.
package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/internal/formats"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/internal/tables"
	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool/builtin"
	"github.com/toolpost/toolpost/wire"
)

// Settings are what the commands configure. Each value comes from the configuration file, the environment or a flag.
// Later sources override earlier ones. The tags of a field declare its setting; see [Setting].
type Settings struct {
	ModelOptions `yaml:",inline"`
	ToolOptions  `yaml:",inline"`
	RunOptions   `yaml:",inline"`
	Journal      string                "yaml:\"journal\" env:\"TOOLPOST_STORE\" help:\"where runs are recorded: a folder, sqlite:FILE or postgres://…\" flag:\"where runs are recorded: a `FOLDER`, sqlite:FILE or postgres://…\" example:\"sqlite:runs.db\""
	Retention    time.Duration         `yaml:"retention" env:"TOOLPOST_RETENTION" help:"how long runs that have ended are kept, like 720h; 0 is forever" example:"720h"`
	Tasks        map[string]TaskConfig `yaml:"tasks" help:"tasks by name, for run @NAME"`
	Gateway      GatewayConfig         `yaml:"gateway" help:"what serve offers: addr, keep_alive, max_body, routes"`

	Unrecorded bool `yaml:"-"` // --no-journal

	Sources map[string]string `yaml:"-"` // the source of each setting; absent means the default
	File    string            `yaml:"-"` // the configuration file; empty if there is none
}

// ModelOptions choose and open a model.
type ModelOptions struct {
	Model     string                    "yaml:\"model\" env:\"TOOLPOST_MODEL\" help:\"the model to ask, like ollama/qwen3:8b\" flag:\"the `MODEL` to ask, like ollama/qwen3:8b; found by itself if not given\" short:\"m\" example:\"ollama/qwen3:8b\""
	Stronger  string                    `yaml:"stronger" env:"TOOLPOST_STRONGER" help:"the model to ask when calls keep failing" example:"anthropic/claude-sonnet-4-5"`
	Local     []string                  `yaml:"local" env:"TOOLPOST_LOCAL" help:"the servers to look for on this machine, or none" values:"ollama llamacpp vllm lmstudio none" example:"[ollama, llamacpp, vllm, lmstudio]"`
	Gate      string                    "yaml:\"gate\" env:\"TOOLPOST_GATE\" help:\"who chooses the tools of a model of up to a billion parameters: auto (Toolpost) or off (the model)\" flag:\"who chooses the tools of a model of up to a billion parameters: auto (Toolpost) or off (the model)\" values:\"auto off\" example:\"off\""
	Limits    LimitsConfig              `yaml:"limits" help:"where an answer is given up: bytes, text, thinking, events, time, idle" example:"{text: 1000000, idle: 5m}"`
	Providers map[string]ProviderConfig `yaml:"providers" help:"your own servers, and further accounts, regions and endpoints of vendors"`
	// AgentPrograms are the programs of the agent/NAME models.
	AgentPrograms map[string]ProgramEntry `yaml:"agent_programs" help:"agent programs that agent/NAME asks"`

	ProgramSecrets []string `yaml:"-"` // credentials of agent programs
}

// ToolOptions choose the tools and what they may do.
type ToolOptions struct {
	Root    string   "yaml:\"root\" env:\"TOOLPOST_ROOT\" help:\"the folder that tools may see\" flag:\"the `FOLDER` that tools may see\" example:\".\""
	Allow   []string `yaml:"allow" env:"TOOLPOST_ALLOW" help:"what tools may do besides reading: write, exec, net" flag:"let tools do more than read: write, exec, net" values:"exec net write" example:"[write]"`
	Sandbox bool     `yaml:"sandbox" env:"TOOLPOST_SANDBOX" help:"whether programs are kept to that folder" flag:"keep the programs that tools run to the folder of --root (Linux)" example:"false"`
	Tools   []string "yaml:\"tools\" env:\"TOOLPOST_TOOLS\" help:\"files that describe more tools\" flag:\"`FILE` that describes more tools, or gives built-in ones other words\" example:\"[tools.yaml]\""
	Lanes   []string "yaml:\"lanes\" env:\"TOOLPOST_LANES\" help:\"the lane of a tool that the vendor, an MCP server or Toolpost could run\" flag:\"the runner of a tool that several could run: `LANE` or TOOL=LANE, where LANE is auto, native (the vendor), mcp, local or never; may be repeated\" values:\"auto native mcp local never\" example:\"[auto]\"" // see ParseLanes
	// MCPServers are the MCP servers whose tools are used.
	MCPServers map[string]config.ServerEntry `yaml:"mcp_servers" help:"MCP servers whose tools are used"`

	MCP         []string `yaml:"-"` // values of --mcp: servers by name, command or address
	ToolSecrets []string `yaml:"-"` // credentials of declared tools
}

// RunOptions bound a run or a turn of a chat.
type RunOptions struct {
	System      string        `yaml:"system" env:"TOOLPOST_SYSTEM" help:"what the model is told before the task" flag:"what the model is told before the task" example:"Answer in one sentence."`
	MaxTurns    int           `yaml:"max_turns" env:"TOOLPOST_MAX_TURNS" help:"how many turns with tools there may be" flag:"how many turns with tools there may be" example:"20"`
	MaxTokens   int           `yaml:"max_tokens" env:"TOOLPOST_MAX_TOKENS" help:"how long one answer of the model may be" flag:"how many tokens one answer of the model may have; its own default if not given" example:"4096"`
	ToolTokens  int           `yaml:"tool_tokens" env:"TOOLPOST_TOOL_TOKENS" help:"how many tokens the definitions of the tools may have" flag:"how many tokens the definitions of the tools may have; an eighth of the model's context, 4000 to 16000, if not given" example:"8000"`
	Results     string        `yaml:"results" env:"TOOLPOST_RESULTS" help:"how much of the tools' results the model is shown: detailed, concise or minimal" flag:"how much of the tools' results the model is shown: detailed, concise or minimal; it can ask for the rest" values:"detailed concise minimal" example:"concise"`
	Cache       bool          `yaml:"cache" env:"TOOLPOST_CACHE" help:"whether a reading call that is repeated with the same arguments is answered from memory, until something may have changed" flag:"answer a reading call that is repeated with the same arguments from memory, until something may have changed" example:"false"`
	Budget      string        "yaml:\"budget_usd\" env:\"TOOLPOST_BUDGET_USD\" help:\"what the models of a run, or of a chat, may cost, in US dollars\" flag:\"what the models of a run, or of a whole chat, may cost, in US `DOLLARS`; no bound if not given\" example:\"0.50\""
	Timeout     time.Duration "yaml:\"timeout\" env:\"TOOLPOST_TIMEOUT\" help:\"how long a run, or a turn of chat, may take, like 10m\" flag:\"how long a run, or a turn of chat, may take, like `10m`; no bound if not given\" example:\"10m\""
	Temperature *float64      `yaml:"temperature" env:"TOOLPOST_TEMPERATURE" help:"how freely the model chooses words, 0 to 2; 0 is always the likeliest" flag:"how freely the model chooses words, 0 to 2; its own default if not given" example:"0"`
}

// ProviderConfig is a server of the user, or another address for a known vendor.
type ProviderConfig struct {
	BaseURL  string            `yaml:"base_url" help:"the root of the API of a server, like http://gpu.example.org:8000/v1; ${NAME} in it is a variable of the environment"`
	Wire     string            `yaml:"wire" help:"the format that the server speaks: chat, responses, messages, gemini, ollama, converse" default:"chat"`
	KeyEnv   string            `yaml:"key_env" help:"the variable of the environment that holds the key; on Bedrock a token, or an access key as ID:SECRET" default:"the vendor's"`
	Like     string            `yaml:"like" help:"the vendor that it is another account, region or endpoint of: all that is not said here is as there"`
	Region   string            `yaml:"region" help:"the region of a row that is like bedrock, bedrock-claude, bedrock-openai or vertex-claude" default:"AWS_REGION, GOOGLE_CLOUD_LOCATION"`
	Project  string            `yaml:"project" help:"the project of a row that is like vertex-claude" default:"GOOGLE_CLOUD_PROJECT"`
	Endpoint string            `yaml:"endpoint" help:"the endpoint of a row that is like azure, like https://NAME.openai.azure.com; it needs key_env" default:"AZURE_OPENAI_ENDPOINT"`
	Headers  map[string]string `yaml:"headers" help:"headers that go with every request"`
}

// LimitsConfig holds the limits that stop an answer; see llm.Limits.
type LimitsConfig struct {
	Bytes    int64         `yaml:"bytes"`
	Text     int64         `yaml:"text"`
	Thinking int64         `yaml:"thinking"`
	Events   int64         `yaml:"events"`
	Time     time.Duration `yaml:"time"`
	Idle     time.Duration `yaml:"idle"`
}

// String returns the limits that are set, for people.
func (l LimitsConfig) String() string {
	var out []string
	for _, row := range []struct {
		name  string
		value any
	}{{"bytes", l.Bytes}, {"text", l.Text}, {"thinking", l.Thinking}, {"events", l.Events}, {"time", l.Time}, {"idle", l.Idle}} {
		if v := fmt.Sprint(row.value); v != "0" && v != "0s" {
			out = append(out, row.name+" "+v)
		}
	}
	return strings.Join(out, ", ")
}

// Setting is the declaration of a setting: the key, the variable (env), the meaning (help), the usage of its flag (flag,
// short), the words that it or its list may have (values), and an example. A setting without a variable can only
// be set in the file.
type Setting struct {
	Key, Env, Help, Example string
	Words                   []string
	flag, short             string
	field                   configcheck.Field
}

// Table holds all settings in the order of config check.
var Table = func() (rows []Setting) {
	for _, f := range configcheck.Fields(reflect.TypeFor[Settings]()) {
		row := Setting{Key: f.Key, Env: f.Tag.Get("env"), Help: f.Tag.Get("help"), Example: f.Tag.Get("example"), flag: f.Tag.Get("flag"), short: f.Tag.Get("short"), field: f}
		if row.Words = f.Words(); f.Type.Kind() == reflect.Bool {
			row.Words = []string{"true", "false"}
		}
		rows = append(rows, row)
	}
	return rows
}()

// Value returns a setting: *string, *int, *bool, *time.Duration, **float64 or *[]string. Settings of the file only are
// returned by value.
func (row Setting) Value(s *Settings) any {
	v := row.field.Of(reflect.ValueOf(s).Elem())
	if row.Env == "" {
		return v.Interface()
	}
	return v.Addr().Interface()
}

// FlagName returns the name of the setting's flag.
func (row Setting) FlagName() string { return strings.ReplaceAll(row.Key, "_", "-") }

// addFlag adds the flag of a setting. Its default is that of the setting.
func (row Setting) addFlag(f *pflag.FlagSet) {
	switch p := row.Value(Defaults()).(type) {
	case *string:
		f.StringP(row.FlagName(), row.short, *p, row.flag)
	case *[]string:
		f.StringSlice(row.FlagName(), nil, row.flag)
	case *int:
		f.Int(row.FlagName(), *p, row.flag)
	case *bool:
		f.Bool(row.FlagName(), *p, row.flag)
	case *time.Duration:
		f.Duration(row.FlagName(), *p, row.flag)
	case **float64:
		f.Float64(row.FlagName(), 0, row.flag)
	}
}

// flagOf returns the value of a setting's flag.
func (row Setting) flagOf(cmd *cobra.Command) (value string, set bool) {
	f := cmd.Flags().Lookup(row.FlagName())
	if f == nil || !f.Changed {
		return "", false
	}
	value = f.Value.String()
	if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
		value = strings.Join(list.GetSlice(), ",")
	}
	return value, true
}

// Set parses a value from a flag or a variable.
func (row Setting) Set(s *Settings, value string) error {
	switch p := row.Value(s).(type) {
	case *string:
		if row.Key == "budget_usd" && strings.TrimSpace(value) == "" { // perhaps from an unset variable
			return errors.New("it is empty; leave it out to have no budget")
		}
		*p = value
	case *[]string:
		*p = nil
		for _, word := range strings.Split(value, ",") {
			if word = strings.TrimSpace(word); word != "" {
				*p = append(*p, word)
			}
		}
	case *int:
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("%q is not a number", value)
		}
		*p = n
	case *bool:
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		*p = on
	case *time.Duration:
		d, err := time.ParseDuration(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("%q is not a duration like 90s or 10m", value)
		}
		*p = d
	case **float64:
		x, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsNaN(x) {
			return fmt.Errorf("%q is not a number", value)
		}
		*p = &x
	}
	return nil
}

// unknownWord returns the first word of a setting that the setting does not declare. A word with = has a form that
// its setting checks.
func (row Setting) unknownWord(s *Settings) (word string, found bool) {
	var list []string
	switch p := row.Value(s).(type) {
	case *string:
		list = []string{*p}
	case *[]string:
		list = *p
	}
	i := slices.IndexFunc(list, func(word string) bool {
		return len(row.Words) > 0 && word != "" && !strings.Contains(word, "=") && !slices.Contains(row.Words, word)
	})
	if i < 0 {
		return "", false
	}
	return list[i], true
}

// take applies a value, unless a flag set the setting.
func (s *Settings) take(row Setting, from string, value any) {
	if !strings.HasPrefix(s.Sources[row.Key], "--") {
		row.field.Of(reflect.ValueOf(s).Elem()).Set(reflect.ValueOf(value))
		s.Sources[row.Key] = from
	}
}

// notRecorded are the settings that belong to the user and not to a run.
var notRecorded = []string{"local", "journal"}

// Recorded returns the settings that a run depends on, by key, for its record.
func (s *Settings) Recorded() map[string]any {
	out := make(map[string]any)
	for _, row := range Table {
		if v := row.field.Of(reflect.ValueOf(s).Elem()); row.Env != "" && !slices.Contains(notRecorded, row.Key) && !v.IsZero() {
			if out[row.Key] = v.Interface(); v.Type() == reflect.TypeFor[time.Duration]() {
				out[row.Key] = fmt.Sprint(v)
			}
		}
	}
	return out
}

// TakeRecorded applies the settings on record, unless a flag sets them. An empty text and a 0 mean that nothing
// was set.
func (s *Settings) TakeRecorded(from string, values map[string]any) error {
	for _, row := range Table {
		v, there := values[row.Key]
		if !there || row.Env == "" || slices.Contains(notRecorded, row.Key) {
			continue
		}
		into := reflect.New(row.field.Type)
		text, err := json.Marshal(v)
		if word, is := v.(string); is && row.field.Type == reflect.TypeFor[time.Duration]() {
			d, wrong := time.ParseDuration(word)
			text, err = []byte(strconv.FormatInt(int64(d), 10)), wrong
		}
		if err = cmp.Or(err, json.Unmarshal(text, into.Interface())); err != nil {
			return fmt.Errorf("the settings on record: %s: %w", row.Key, err)
		}
		switch value := into.Elem(); value.Kind() {
		case reflect.String, reflect.Int, reflect.Int64:
			if value.IsZero() {
				continue
			}
		}
		s.take(row, from, into.Elem().Interface())
	}
	return nil
}

// resolvePaths resolves the paths of a configuration file relative to the file's folder.
func (s *Settings) resolvePaths(file string) {
	near := func(path string) string {
		if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "${") {
			return path
		}
		return filepath.Join(filepath.Dir(file), path)
	}
	for i, tools := range s.Tools {
		s.Tools[i] = near(tools)
	}
	for name, e := range s.MCPServers {
		e.EnvFile = near(e.EnvFile)
		s.MCPServers[name] = e
	}
	for name, e := range s.AgentPrograms {
		e.Settings = near(e.Settings)
		s.AgentPrograms[name] = e
	}
}

// File returns the configuration file. named means that the user named the file, and it must exist.
func File(cmd *cobra.Command) (file string, named bool) {
	if f := cmd.Flags().Lookup("config"); f != nil && f.Value.String() != "" {
		return f.Value.String(), true
	}
	if file := os.Getenv("TOOLPOST_CONFIG"); file != "" {
		return file, true
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", false // the file is in the home directory
	}
	return filepath.Join(dir, "toolpost", "config.yaml"), false
}

// Load reads the settings of a command.
func Load(cmd *cobra.Command) (*Settings, error) {
	s := Defaults()
	file, named := File(cmd)
	if file != "" {
		if err := s.ReadFile(file); errors.Is(err, fs.ErrNotExist) && !named {
			file = ""
		} else if err != nil {
			return nil, err
		}
	}
	s.File = file
	if err := s.Override(cmd); err != nil {
		return nil, err
	}
	err := s.Check()
	if wrong := (SettingError{}); errors.As(err, &wrong) && wrong.OfCommand() {
		err = cli.Usagef(cmd, "%w", err)
	} else if errors.As(err, &wrong) && file != "" && wrong.Sources == file {
		if text, unread := cli.ReadFile(file, MaxConfig); unread == nil {
			wrong.Sources = configcheck.Place(file, WithoutMark(text), wrong.Path)
			err = wrong
		}
	}
	return s, err
}

// Defaults returns the defaults.
func Defaults() *Settings {
	s := &Settings{Sources: make(map[string]string)}
	s.Root, s.Local, s.MaxTurns, s.Results = ".", slices.Clone(LocalServers), DefaultTurns, "detailed"
	return s
}

// Override applies the environment and the flags.
func (s *Settings) Override(cmd *cobra.Command) error {
	for _, row := range Table {
		if v, ok := os.LookupEnv(row.Env); ok && v != "" && row.Env != "" {
			if err := row.Set(s, v); err != nil {
				return cli.Usagef(cmd, "%s: %w", row.Env, err)
			}
			s.Sources[row.Key] = row.Env
		}
		if v, ok := row.flagOf(cmd); ok {
			if err := row.Set(s, v); err != nil {
				return cli.Usagef(cmd, "--%s: %w", row.Key, err)
			}
			s.Sources[row.Key] = "--" + row.FlagName()
		}
	}
	if cmd.Flags().Lookup("mcp") != nil {
		s.MCP, _ = cmd.Flags().GetStringArray("mcp")
	}
	s.Journal = cmp.Or(s.Journal, filepath.Join(StateDir(), "runs"))
	if f := cmd.Flags().Lookup("no-journal"); f != nil && f.Value.String() == "true" {
		if j := cmd.Flag("journal"); j != nil && j.Changed {
			return cli.Usagef(cmd, "--journal names a record and --no-journal wants none: use one of them")
		}
		s.Unrecorded = true
	}
	return nil
}

// SettingError is an invalid value of a setting and its source.
type SettingError struct {
	Sources string
	Path    string // in the file, like providers.gpu.wire
	Err     error  // names the setting
}

// Error returns the source, the path and the problem. The path is left out if the source or the problem names the setting.
func (e SettingError) Error() string {
	problem := e.Problem()
	if e.OfCommand() || problem == e.Err.Error() {
		return e.Sources + ": " + problem
	}
	return e.Sources + ": " + e.Path + ": " + problem
}

// Problem returns the problem without the name of the setting before it.
func (e SettingError) Problem() string {
	key, _, _ := strings.Cut(e.Path, ".")
	return strings.TrimPrefix(e.Err.Error(), key+": ")
}

// OfCommand reports whether the value came from a flag or a variable.
func (e SettingError) OfCommand() bool {
	return strings.HasPrefix(e.Sources, "--") || strings.HasPrefix(e.Sources, "TOOLPOST_")
}
func (e SettingError) Unwrap() error { return e.Err }

// MaxConfig limits the size of the configuration file.
const MaxConfig = 1 << 20

// WithoutMark removes the byte order mark that editors on Windows put at the start of a text.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// ReadFile reads a configuration file. Unknown keys are errors that name their line; otherwise a misspelt setting would
// be ignored silently.
func (s *Settings) ReadFile(file string) error {
	text, err := cli.ReadFile(file, MaxConfig)
	if err != nil {
		return fmt.Errorf("the configuration cannot be read: %w", err)
	}
	text = WithoutMark(text)
	if err := yamlcheck.Check(text); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	present, err := Decode(text, s)
	if err != nil {
		return configError(file, err)
	}
	for key, v := range present {
		if v != nil {
			s.Sources[key] = file
		}
	}
	s.resolvePaths(file)
	for _, t := range s.Tasks {
		for i, tools := range t.Tools {
			if !filepath.IsAbs(tools) {
				t.Tools[i] = filepath.Join(filepath.Dir(file), tools)
			}
		}
	}
	return nil
}

// Decode decodes the text of a configuration into s. It returns the values that are present, by key. Unknown
// and duplicate keys are errors. A key of a merge (<<) may be repeated.
func Decode(text []byte, s *Settings) (present map[string]any, err error) {
	tree, err := yamlcheck.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if err := yaml.NodeToValue(doc.Body, &present); err == nil && len(present) == 0 {
			return nil, nil // comments only; decoding an empty document would reset the defaults
		}
		if err := yaml.NodeToValue(doc.Body, s, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
			return nil, err
		}
		break
	}
	return present, nil
}

// configError returns an error of one line with the place of the mistake.
func configError(file string, err error) error {
	line, text := configProblem(err)
	if line == 0 {
		return fmt.Errorf("%s: %s", file, text)
	}
	return fmt.Errorf("%s:%d: %s", file, line, text)
}

// configProblem returns the line of a mistake, 0 if it is unknown, and a description.
func configProblem(err error) (line int, text string) {
	line, text = configcheck.Problem(err)
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		key := unknown.GetToken().Value
		text = fmt.Sprintf("the key %q is not known", key)
		if near := nearest(key); near != "" {
			text += "; did you mean " + near + "?"
		}
	}
	return line, text
}

// nearest returns the setting whose key shares the longest prefix and suffix with a word.
func nearest(word string) string {
	best, most := "", 2
	for _, row := range Table {
		n := 0
		for n < min(len(word), len(row.Key)) && word[n] == row.Key[n] {
			n++
		}
		for i := 1; i <= min(len(word), len(row.Key))-n && word[len(word)-i] == row.Key[len(row.Key)-i]; i++ {
			n++
		}
		if n > most {
			best, most = row.Key, n
		}
	}
	return best
}

// The classes of --allow, and the tools that each class offers.
var Classes = map[string][]string{
	"write": {"write_file", "edit_file"},
	"exec":  {"run_command"},
	"net":   {"fetch_url", "web_search"},
}

// CheckAllow refuses unknown classes.
func CheckAllow(classes []string) error {
	for _, class := range classes {
		if _, ok := Classes[class]; !ok {
			return fmt.Errorf("%q is not one of %s", class, strings.Join(slices.Sorted(maps.Keys(Classes)), ", "))
		}
	}
	return nil
}

// ClassOf returns the class of --allow that offers a tool.
func ClassOf(name string) string {
	for class, names := range Classes {
		if slices.Contains(names, name) {
			return class
		}
	}
	return ""
}

// settingCheck is the check of one setting. Its error describes the problem.
type settingCheck struct {
	key   string
	check func() error
}

func (s *Settings) checks() []settingCheck {
	return []settingCheck{
		{"lanes", func() error { _, err := ParseLanes(s.Lanes); return err }},
		{"budget_usd", func() error { _, err := s.Money(); return err }},
		{"tasks", func() error { return checkTasks(s.Tasks) }},
		{"mcp_servers", s.checkServers},
		{"agent_programs", s.checkAgentPrograms},
	}
}

// Check returns the first invalid value, from any source.
func (s *Settings) Check() error {
	for _, p := range s.Problems() {
		return p
	}
	return nil
}

// Problems returns all invalid values, from any source.
func (s *Settings) Problems() (list []error) {
	wrong := func(path, format string, args ...any) {
		key, _, _ := strings.Cut(path, ".")
		list = append(list, SettingError{cmp.Or(s.Sources[key], "the settings"), path, fmt.Errorf(format, args...)})
	}
	var reported []string
	for _, row := range Table {
		if word, ok := row.unknownWord(s); ok {
			reported = append(reported, row.Key)
			wrong(row.Key, "%s: %q is not one of %s", row.Key, word, strings.Join(row.Words, ", "))
		}
	}
	for _, c := range s.checks() {
		if err := c.check(); err != nil && !slices.Contains(reported, c.key) {
			wrong(c.key, c.key+": %w", err)
		}
	}
	if s.Sandbox {
		if err := builtin.CanSandbox(); err != nil {
			wrong("sandbox", "programs cannot be kept to a folder here: %w. Leave sandbox out, or run toolpost in a container", err)
		}
	}
	if s.MaxTurns < 1 || s.MaxTurns > maxTurns {
		wrong("max_turns", "max_turns is %d; it can be 1 to %d", s.MaxTurns, maxTurns)
	}
	if s.MaxTokens < 0 {
		wrong("max_tokens", "max_tokens is %d; it cannot be less than 0", s.MaxTokens)
	}
	if s.ToolTokens < 0 {
		wrong("tool_tokens", "tool_tokens is %d; it cannot be less than 0", s.ToolTokens)
	}
	if s.Retention < 0 {
		wrong("retention", "retention is %s; it cannot be less than 0", s.Retention)
	}
	if s.Journal == "none" {
		wrong("journal", "journal is none; to leave no record, use --no-journal with run or chat")
	}
	if s.Timeout < 0 {
		wrong("timeout", "timeout is %s; it cannot be less than 0", s.Timeout)
	}
	if t := s.Temperature; t != nil && (*t < 0 || *t > 2) {
		wrong("temperature", "temperature is %g; it can be 0 to 2", *t)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		if problem := NameProblem(name); problem != "" {
			wrong("providers", "providers: %s", problem)
		}
		s.Providers[name].problems(name, func(setting, format string, args ...any) {
			wrong("providers."+name+setting, "providers: "+format, append([]any{name}, args...)...)
		})
	}
	return list
}

// problems reports the mistakes in the settings of a user's server.
func (p ProviderConfig) problems(name string, wrong func(setting, format string, args ...any)) {
	p.partProblems(name, wrong)
	if p.BaseURL == "" && p.Like == "" && p.Vars(name) == nil {
		wrong("", "%s has no base_url, and no like, which names the vendor of the account")
	}
	if unschemed(p.BaseURL) { // not repeated: it may hold a password
		wrong(".base_url", "base_url of %s does not begin with http:// or https://; begin with http:// for a server without TLS, like http://127.0.0.1:8000/v1")
	}
	var vendors []string
	for _, v := range provider.Vendors() {
		vendors = append(vendors, v.Name)
	}
	if p.Like != "" && !slices.Contains(vendors, p.Like) {
		wrong(".like", "%s is like no vendor that is called %q%s", p.Like, cmp.Or(cli.DidYouMean(p.Like, vendors), "; there are "+strings.Join(vendors, ", ")))
	}
	if p.KeyEnv != "" && (secret.HasForm(p.KeyEnv) || !variableName(p.KeyEnv)) { // not repeated: it may be the key itself
		wrong(".key_env", "key_env of %s is not a name of a variable; the key itself does not belong into the file")
	}
	if err := formats.Check(p.Wire, wire.Formats()...); p.Wire != "" && err != nil {
		wrong(".wire", "%s: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		if err := outbound.CheckHeader(name, p.Headers[name]); err != nil {
			wrong(".headers", "headers of %s: %v", err)
		}
		if ref := VariableIn.FindString(p.Headers[name]); ref != "" {
			wrong(".headers", "headers of %s: %s would be sent as it stands there: variables are not replaced in headers, and a key is read from key_env", ref)
		}
	}
}

// variableName reports whether a text is a valid name of an environment variable.
func variableName(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

// The limits of max_turns.
const (
	DefaultTurns = 20
	maxTurns     = 500
)

// checkAgentPrograms refuses agent programs with an invalid configuration.
func (s *Settings) checkAgentPrograms() error {
	for name, e := range s.AgentPrograms {
		if err := e.Program(name).Check(); err != nil {
			return err
		}
	}
	return nil
}

// Money returns the limit for the cost of a run's models, 0 if there is none.
func (s *Settings) Money() (catalog.Money, error) {
	if s.Budget == "" {
		return 0, nil
	}
	sum, err := catalog.ParseMoney(s.Budget)
	if err == nil && sum == 0 {
		err = errors.New("with a budget of nothing no model can be asked; leave it out for no bound")
	}
	return sum, err
}

// LocalServers are the servers to look for on this machine, in order of preference.
var LocalServers = []string{"ollama", "llamacpp", "vllm", "lmstudio"}

// Redact redacts secrets in the text of a server. A server may repeat a key in any message.
func (s *Settings) Redact(text string) string { return s.Secrets().Clean(text).String() }

// RedactError redacts secrets in the message of err.
func (s *Settings) RedactError(err error) error {
	if err == nil {
		return nil
	}
	if text := s.Redact(err.Error()); text != err.Error() {
		return Reworded(err, text)
	}
	return err
}

// Reworded returns err with another message.
func Reworded(err error, text string) error { return &redactedError{text, err} }

// redactedError is an error with a rewritten message, because the original held a secret.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.err }

// checkServers refuses servers with an invalid configuration.
func (s *Settings) checkServers() error {
	for name, e := range s.MCPServers {
		if err := e.Config(name).Check(); err != nil {
			return err
		}
	}
	return nil
}

// EvaluationsDir returns the directory for the records of evaluations.
func EvaluationsDir() string { return filepath.Join(StateDir(), "evaluations") }

// StateDir returns the directory for persistent data other than configuration, such as the history of chat and the
// records of runs.
func StateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolpost")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "toolpost")
	}
	return ".toolpost"
}

func IsPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// NamingNewer adds the name of the database to an error about tables of a newer version.
func NamingNewer(name string, err error) error {
	var schema *journal.SchemaError
	var newer *tables.NewerError
	switch {
	case errors.As(err, &schema):
		newer = &tables.NewerError{Version: schema.Version, Known: schema.Known}
	case !errors.As(err, &newer):
		return err
	}
	if IsPostgres(name) {
		name = databaseOf(name)
	}
	return Reworded(err, name+": "+newer.Error())
}

// databaseOf returns the host and the name of a PostgreSQL database, without a password.
func databaseOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the database"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func HasPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Query().Has("password") {
		return true
	}
	_, has := u.User.Password()
	return has
}

// RedactAddress redacts the password in an address.
func RedactAddress(name string) string {
	if u, err := url.Parse(name); err == nil && u.User != nil {
		return u.Redacted()
	}
	return name
}

// VariableIn matches an environment variable in an address.
var VariableIn = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// NameProblem describes why a model name is probably a mistake, "" if it is plausible.
func NameProblem(name string) string {
	ref := VariableIn.FindString(name)
	switch {
	case strings.ContainsFunc(name, child.IsControl):
		return fmt.Sprintf("%q has invisible characters; remove them", name)
	case strings.TrimSpace(name) != name:
		return fmt.Sprintf("%q begins or ends with spaces; remove them", name)
	case ref != "":
		return fmt.Sprintf("variables are not replaced here, and %s would be part of the name; write the name itself", ref)
	}
	return ""
}

// Secrets returns the keys of the environment and the credentials of declared tools and agent programs, in any form. A server or a tool
// may repeat a secret, which must not reach the record, the model or the screen.
func (s *Settings) Secrets() *journal.Secrets {
	var names []string
	for _, v := range provider.Vendors() {
		names = append(names, v.KeyVars()...)
	}
	for _, p := range s.Providers {
		names = append(names, p.KeyEnv)
	}
	var all []string
	for _, name := range names {
		all = append(all, secret.Values(secret.OfKey(strings.TrimSpace(os.Getenv(name))))...)
	}
	out := new(journal.Secrets)
	for _, value := range slices.Concat(all, s.ToolSecrets, s.ProgramSecrets) {
		if !slices.Contains(out.Values, value) {
			out.Values = append(out.Values, value)
		}
	}
	return out
}

// OwnFile is configFile for commands that require a file.
func OwnFile(cmd *cobra.Command) (string, error) {
	file, _ := File(cmd)
	if file == "" {
		return "", errors.New("there is no home directory for a configuration file; name one with --config")
	}
	return file, nil
}

// DecodeFile parses the text of a configuration file as strictly as readFile.
func DecodeFile(text []byte) (Settings, error) {
	var s Settings
	if len(text) > MaxConfig {
		return s, fmt.Errorf("more than %d bytes", MaxConfig)
	}
	if err := yamlcheck.Check(text); err != nil {
		return s, err
	}
	_, err := Decode(text, &s)
	var at yaml.Error
	if err != nil && errors.As(err, &at) && at.GetToken() != nil {
		return s, fmt.Errorf("line %d: %s", at.GetToken().Position.Line, at.GetMessage())
	}
	return s, err
}
