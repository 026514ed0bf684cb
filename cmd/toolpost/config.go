package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/formats"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/mcpbridge"
	"github.com/toolpost/toolpost/mcpbridge/agentcli"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/shorten"
	"github.com/toolpost/toolpost/tool/builtin"
)

// settings are the settings of run and chat, without the task. Each value comes from the configuration file, the
// environment or a flag. Later sources override earlier ones.
type settings struct {
	Model       string                    `yaml:"model"`
	Stronger    string                    `yaml:"stronger"`
	Local       []string                  `yaml:"local"`
	Root        string                    `yaml:"root"`
	Allow       []string                  `yaml:"allow"`
	Sandbox     bool                      `yaml:"sandbox"`
	Tools       []string                  `yaml:"tools"`
	Lanes       []string                  `yaml:"lanes"` // which party runs tools; see parseLanes
	System      string                    `yaml:"system"`
	MaxTurns    int                       `yaml:"max_turns"`
	MaxTokens   int                       `yaml:"max_tokens"`  // of one answer; 0 uses the model's default
	ToolTokens  int                       `yaml:"tool_tokens"` // of all definitions; 0 derives it from the model's context
	Results     string                    `yaml:"results"`     // how much of results the model sees; "" means detailed
	Budget      string                    `yaml:"budget_usd"`  // of a run or a chat, in dollars; "" means none
	Timeout     time.Duration             `yaml:"timeout"`     // of a run, or of a turn of chat; 0 means none
	Temperature *float64                  `yaml:"temperature"` // nil uses the model's default
	Journal     string                    `yaml:"journal"`
	Limits      limitsConfig              `yaml:"limits"`
	Providers   map[string]providerConfig `yaml:"providers"`
	Tasks       map[string]taskConfig     `yaml:"tasks"`
	// MCPServers are the MCP servers whose tools are used.
	MCPServers map[string]mcpbridge.ServerEntry `yaml:"mcp_servers"`
	// Gateway holds the settings of serve.
	Gateway gatewayConfig `yaml:"gateway"`
	// AgentPrograms are the programs of the agent/NAME models.
	AgentPrograms map[string]agentcli.ProgramEntry `yaml:"agent_programs"`

	mcp []string // values of --mcp: servers by name, command or address

	hidden []string          // credentials of declared tools
	from   map[string]string // the source of each setting; absent means the default
	file   string            // the configuration file; empty if there is none
}

// providerConfig is a server of the user, or another address for a known vendor.
type providerConfig struct {
	BaseURL  string            `yaml:"base_url" help:"the root of the API of a server, like http://gpu.example.org:8000/v1; ${NAME} in it is a variable of the environment"`
	Wire     string            `yaml:"wire" help:"the format that the server speaks: chat, responses, messages, gemini, ollama, converse" default:"chat"`
	KeyEnv   string            `yaml:"key_env" help:"the variable of the environment that holds the key; on Bedrock a token, or an access key as ID:SECRET" default:"the vendor's"`
	Like     string            `yaml:"like" help:"the vendor that it is another account, region or endpoint of: all that is not said here is as there"`
	Region   string            `yaml:"region" help:"the region of a row that is like bedrock, bedrock-claude, bedrock-openai or vertex-claude" default:"AWS_REGION, GOOGLE_CLOUD_LOCATION"`
	Project  string            `yaml:"project" help:"the project of a row that is like vertex-claude" default:"GOOGLE_CLOUD_PROJECT"`
	Endpoint string            `yaml:"endpoint" help:"the endpoint of a row that is like azure, like https://NAME.openai.azure.com; it needs key_env" default:"AZURE_OPENAI_ENDPOINT"`
	Headers  map[string]string `yaml:"headers" help:"headers that go with every request"`
}

// limitsConfig holds the limits that stop an answer; see llm.Limits.
type limitsConfig struct {
	Bytes    int64         `yaml:"bytes"`
	Text     int64         `yaml:"text"`
	Thinking int64         `yaml:"thinking"`
	Events   int64         `yaml:"events"`
	Time     time.Duration `yaml:"time"`
	Idle     time.Duration `yaml:"idle"`
}

// String returns the limits that are set, for people.
func (l limitsConfig) String() string {
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

// setting is one row of the table of settings. A setting without a variable can only be set in the file.
type setting struct {
	key, env, help string
	value          func(*settings) any // *string, *int, *bool, *time.Duration, **float64 or *[]string; other types for settings of the file only
}

// settingTable holds all settings in the order of config check.
var settingTable = []setting{
	{"model", "TOOLPOST_MODEL", "the model to ask, like ollama/qwen3:8b", func(s *settings) any { return &s.Model }},
	{"stronger", "TOOLPOST_STRONGER", "the model to ask when calls keep failing", func(s *settings) any { return &s.Stronger }},
	{"local", "TOOLPOST_LOCAL", "the servers to look for on this machine, or none", func(s *settings) any { return &s.Local }},
	{"root", "TOOLPOST_ROOT", "the folder that tools may see", func(s *settings) any { return &s.Root }},
	{"allow", "TOOLPOST_ALLOW", "what tools may do besides reading: write, exec, net", func(s *settings) any { return &s.Allow }},
	{"sandbox", "TOOLPOST_SANDBOX", "whether programs are kept to that folder", func(s *settings) any { return &s.Sandbox }},
	{"tools", "TOOLPOST_TOOLS", "files that describe more tools", func(s *settings) any { return &s.Tools }},
	{"lanes", "TOOLPOST_LANES", "the lane of a tool that the vendor, an MCP server or Toolpost could run", func(s *settings) any { return &s.Lanes }},
	{"system", "TOOLPOST_SYSTEM", "what the model is told before the task", func(s *settings) any { return &s.System }},
	{"max_turns", "TOOLPOST_MAX_TURNS", "how many turns with tools there may be", func(s *settings) any { return &s.MaxTurns }},
	{"max_tokens", "TOOLPOST_MAX_TOKENS", "how long one answer of the model may be", func(s *settings) any { return &s.MaxTokens }},
	{"tool_tokens", "TOOLPOST_TOOL_TOKENS", "how many tokens the definitions of the tools may have", func(s *settings) any { return &s.ToolTokens }},
	{"results", "TOOLPOST_RESULTS", "how much of the tools' results the model is shown: detailed, concise or minimal", func(s *settings) any { return &s.Results }},
	{"budget_usd", "TOOLPOST_BUDGET_USD", "what the models of a run, or of a chat, may cost, in US dollars", func(s *settings) any { return &s.Budget }},
	{"timeout", "TOOLPOST_TIMEOUT", "how long a run, or a turn of chat, may take, like 10m", func(s *settings) any { return &s.Timeout }},
	{"temperature", "TOOLPOST_TEMPERATURE", "how freely the model chooses words, 0 to 2; 0 is always the likeliest", func(s *settings) any { return &s.Temperature }},
	{"journal", "TOOLPOST_STORE", "where runs are recorded: a folder, sqlite:FILE or postgres://…", func(s *settings) any { return &s.Journal }},
	{"limits", "", "where an answer is given up: bytes, text, thinking, events, time, idle", func(s *settings) any { return s.Limits }},
	{"providers", "", "your own servers, and further accounts, regions and endpoints of vendors", func(s *settings) any { return s.Providers }},
	{"tasks", "", "tasks by name, for run @NAME", func(s *settings) any { return s.Tasks }},
	{"mcp_servers", "", "MCP servers whose tools are used", func(s *settings) any { return s.MCPServers }},
	{"gateway", "", "what serve offers: addr, keep_alive, max_body, routes", func(s *settings) any { return s.Gateway }},
	{"agent_programs", "", "agent programs that agent/NAME asks", func(s *settings) any { return s.AgentPrograms }},
}

// flagOf returns the value of a setting's flag.
func (row setting) flagOf(cmd *cobra.Command) (value string, set bool) {
	f := cmd.Flags().Lookup(strings.ReplaceAll(row.key, "_", "-"))
	if f == nil || !f.Changed {
		return "", false
	}
	value = f.Value.String()
	if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
		value = strings.Join(list.GetSlice(), ",")
	}
	return value, true
}

// set parses a value from a flag or a variable.
func (row setting) set(s *settings, value string) error {
	switch p := row.value(s).(type) {
	case *string:
		if row.key == "budget_usd" && strings.TrimSpace(value) == "" { // perhaps from an unset variable
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
			return fmt.Errorf("%q is no number", value)
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
			return fmt.Errorf("%q is no duration like 90s or 10m", value)
		}
		*p = d
	case **float64:
		x, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsNaN(x) {
			return fmt.Errorf("%q is no number", value)
		}
		*p = &x
	}
	return nil
}

// show formats a value for people.
func (row setting) show(s *settings) string {
	switch p := row.value(s).(type) {
	case map[string]providerConfig:
		return strings.Join(slices.Sorted(keys(p)), ", ")
	case map[string]taskConfig:
		return strings.Join(slices.Sorted(keys(p)), ", ")
	case map[string]mcpbridge.ServerEntry:
		return strings.Join(slices.Sorted(keys(p)), ", ")
	case map[string]agentcli.ProgramEntry:
		return strings.Join(slices.Sorted(keys(p)), ", ")
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
		return firstLine(redactAddress(*p), 60)
	}
	return ""
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// beside resolves the paths of a configuration file relative to the file's folder.
func (s *settings) beside(file string) {
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

// configFile returns the configuration file. named means that the user named the file, and it must exist.
func configFile(cmd *cobra.Command) (file string, named bool) {
	if f := cmd.Flags().Lookup("config"); f != nil && f.Value.String() != "" {
		return f.Value.String(), true
	}
	if file := os.Getenv("TOOLPOST_CONFIG"); file != "" {
		return file, true
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", false // there is no file without a home directory
	}
	return filepath.Join(dir, "toolpost", "config.yaml"), false
}

// loadSettings reads the settings of a command.
func loadSettings(cmd *cobra.Command) (*settings, error) {
	s := newSettings()
	file, named := configFile(cmd)
	if file != "" {
		if err := s.readFile(file); errors.Is(err, fs.ErrNotExist) && !named {
			file = ""
		} else if err != nil {
			return nil, err
		}
	}
	s.file = file
	if err := s.override(cmd); err != nil {
		return nil, err
	}
	err := s.check()
	if wrong := (settingError{}); errors.As(err, &wrong) && wrong.ofCommand() {
		err = cli.Usagef(cmd, "%w", err)
	}
	return s, err
}

// newSettings returns the defaults.
func newSettings() *settings {
	return &settings{Root: ".", MaxTurns: defaultTurns, Local: slices.Clone(locals), from: make(map[string]string)}
}

// override applies the environment and the flags.
func (s *settings) override(cmd *cobra.Command) error {
	for _, row := range settingTable {
		if v, ok := os.LookupEnv(row.env); ok && v != "" && row.env != "" {
			if err := row.set(s, v); err != nil {
				return cli.Usagef(cmd, "%s: %w", row.env, err)
			}
			s.from[row.key] = row.env
		}
		if v, ok := row.flagOf(cmd); ok {
			if err := row.set(s, v); err != nil {
				return cli.Usagef(cmd, "--%s: %w", row.key, err)
			}
			s.from[row.key] = "--" + strings.ReplaceAll(row.key, "_", "-")
		}
	}
	if cmd.Flags().Lookup("mcp") != nil {
		s.mcp, _ = cmd.Flags().GetStringArray("mcp")
	}
	s.Journal = cmp.Or(s.Journal, filepath.Join(stateDir(), "runs"))
	return nil
}

// settingError is an invalid value of a setting and its source.
type settingError struct {
	from string
	path string // in the file, like providers.gpu.wire
	err  error  // names the setting
}

func (e settingError) Error() string { return e.from + ": " + e.err.Error() }

// ofCommand reports whether the value came from a flag or a variable.
func (e settingError) ofCommand() bool {
	return strings.HasPrefix(e.from, "--") || strings.HasPrefix(e.from, "TOOLPOST_")
}
func (e settingError) Unwrap() error { return e.err }

// maxConfig limits the size of the configuration file.
const maxConfig = 1 << 20

// withoutMark removes the byte order mark that editors on Windows put at the start of a text.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// readFile reads a configuration file. Unknown keys are errors that name their line; otherwise a misspelt setting would
// be ignored silently.
func (s *settings) readFile(file string) error {
	text, err := cli.ReadFile(file, maxConfig)
	if err != nil {
		return fmt.Errorf("the configuration cannot be read: %w", err)
	}
	text = withoutMark(text)
	if err := yamlcheck.Check(text); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	present, err := decodeSettings(text, s)
	if err != nil {
		return configError(file, err)
	}
	for key, v := range present {
		if v != nil {
			s.from[key] = file
		}
	}
	s.beside(file)
	for _, t := range s.Tasks {
		for i, tools := range t.Tools {
			if !filepath.IsAbs(tools) {
				t.Tools[i] = filepath.Join(filepath.Dir(file), tools)
			}
		}
	}
	return nil
}

// decodeSettings decodes the text of a configuration into s. It returns the values that are present, by key. Unknown
// and duplicate keys are errors. A key of a merge (<<) may be repeated.
func decodeSettings(text []byte, s *settings) (present map[string]any, err error) {
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
		return fmt.Errorf("%s: %w", file, plainError(err))
	}
	return fmt.Errorf("%s:%d: %s", file, line, text)
}

// configProblem returns the line of a mistake, 0 if it is unknown, and a description.
func configProblem(err error) (line int, text string) {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil || at.GetToken().Position == nil {
		return 0, plainError(err).Error()
	}
	text = plainProblem(at.GetMessage(), at.GetToken().Value)
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		text = fmt.Sprintf("the key %q is not known", at.GetToken().Value)
		if near := nearest(at.GetToken().Value); near != "" {
			text += "; did you mean " + near + "?"
		}
	}
	return at.GetToken().Position.Line, text
}

// plainError rewrites errors of the YAML parser that use Go terms.
func plainError(err error) error {
	text := err.Error()
	if i := strings.LastIndex(text, "duration "); strings.HasPrefix(text, "time: ") && i >= 0 {
		value := text[i+len("duration "):]
		if strings.HasSuffix(value, `d"`) {
			return fmt.Errorf("%s is no duration like 90s or 10m; the largest unit is h, and a day is 24h", value)
		}
		return fmt.Errorf("%s is no duration like 90s or 10m", value)
	}
	return err
}

// goTypes names the types of settings in plain words, by the suffix of their Go name.
var goTypes = []struct{ end, is string }{
	{"time.Duration", "a duration like 90s or 10m"}, {"int64", "a whole number"}, {"int", "a whole number"}, {"float64", "a number"},
	{"bool", "true or false"}, {"string", "a text"},
}

// yamlWords maps messages of the YAML parser about common mistakes to helpful ones.
var yamlWords = []struct{ says, means string }{
	{"found character '\t'", "a tab stands here; YAML is indented with spaces alone"},
	{"tab character cannot use", "a tab stands here; YAML is indented with spaces alone"},
	{"found a tab character", "a tab stands here; YAML is indented with spaces alone"},
	{"sequence end token ']' not found", "the list that begins here does not end; a ] is missing"},
	{"could not find flow mapping end token '}'", "the settings in braces that begin here do not end; a } is missing"},
	{"non-map value is specified", "a setting and its value are expected here, like NAME: VALUE, with a space behind the colon and as far to the right as the line before"},
	{"value is not allowed in this context", "nothing can stand here: settings of one thing begin in the same column, so this line stands too far to the left or to the right, or a text with a colon has no quotes"},
	{"could not find end character of", "the text that begins here does not end; a quote is missing"},
}

// plainProblem rewrites a message of the YAML parser without Go terms.
func plainProblem(message, value string) string {
	_, rest, found := strings.Cut(message, " of type ")
	if !found || !strings.HasPrefix(message, "cannot unmarshal ") {
		for _, row := range yamlWords {
			if strings.Contains(message, row.says) {
				return row.means
			}
		}
		return strings.NewReplacer("sequence is expected", "a list is expected", "mapping is expected", "keys and values are expected").Replace(message)
	}
	for _, t := range goTypes {
		if strings.HasSuffix(strings.TrimSpace(rest), t.end) {
			return fmt.Sprintf("%q is not %s", firstLine(value, 60), t.is)
		}
	}
	return fmt.Sprintf("%q does not belong here", firstLine(value, 60))
}

// nearest returns the setting whose key shares the longest prefix and suffix with a word.
func nearest(word string) string {
	best, most := "", 2
	for _, row := range settingTable {
		n := 0
		for n < min(len(word), len(row.key)) && word[n] == row.key[n] {
			n++
		}
		for i := 1; i <= min(len(word), len(row.key))-n && word[len(word)-i] == row.key[len(row.key)-i]; i++ {
			n++
		}
		if n > most {
			best, most = row.key, n
		}
	}
	return best
}

// The classes of --allow, and the tools that each class offers.
var allowed = map[string][]string{
	"write": {"write_file", "edit_file"},
	"exec":  {"run_command"},
	"net":   {"fetch_url", "web_search"},
}

// The help texts of the --allow and --root flags.
const (
	allowUsage = "let tools do more than read: write, exec, net"
	rootUsage  = "the `FOLDER` that tools may see"
)

// checkAllow refuses unknown classes.
func checkAllow(classes []string) error {
	for _, class := range classes {
		if _, ok := allowed[class]; !ok {
			return fmt.Errorf("%q is not one of %s", class, strings.Join(slices.Sorted(keys(allowed)), ", "))
		}
	}
	return nil
}

// classOf returns the class of --allow that offers a tool.
func classOf(name string) string {
	for class, names := range allowed {
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

func (s *settings) checks() []settingCheck {
	return []settingCheck{
		{"allow", func() error { return checkAllow(s.Allow) }},
		{"lanes", func() error { _, err := parseLanes(s.Lanes); return err }},
		{"results", func() error { _, err := shorten.ParseMode(cmp.Or(s.Results, "detailed")); return err }},
		{"budget_usd", func() error { _, err := s.budget(); return err }},
		{"tasks", func() error { return checkTasks(s.Tasks) }},
		{"mcp_servers", s.checkServers},
		{"agent_programs", s.checkAgentPrograms},
	}
}

// check returns the first invalid value, from any source.
func (s *settings) check() error {
	for _, p := range s.problems() {
		return p
	}
	return nil
}

// problems returns all invalid values, from any source.
func (s *settings) problems() (list []error) {
	wrong := func(path, format string, args ...any) {
		key, _, _ := strings.Cut(path, ".")
		list = append(list, settingError{cmp.Or(s.from[key], "the settings"), path, fmt.Errorf(format, args...)})
	}
	for _, c := range s.checks() {
		if err := c.check(); err != nil {
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
	if s.Timeout < 0 {
		wrong("timeout", "timeout is %s; it cannot be less than 0", s.Timeout)
	}
	if t := s.Temperature; t != nil && (*t < 0 || *t > 2) {
		wrong("temperature", "temperature is %g; it can be 0 to 2", *t)
	}
	if i := slices.IndexFunc(s.Local, func(name string) bool { return name != "none" && !slices.Contains(locals, name) }); i >= 0 {
		wrong("local", "local: %q is not one of %s, none", s.Local[i], strings.Join(locals, ", "))
	}
	for _, name := range slices.Sorted(keys(s.Providers)) {
		if problem := nameProblem(name); problem != "" {
			wrong("providers", "providers: %s", problem)
		}
		s.Providers[name].problems(name, func(setting, format string, args ...any) {
			wrong("providers."+name+setting, "providers: "+format, append([]any{name}, args...)...)
		})
	}
	return list
}

// problems reports the mistakes in the settings of a user's server.
func (p providerConfig) problems(name string, wrong func(setting, format string, args ...any)) {
	p.partProblems(name, wrong)
	if p.BaseURL == "" && p.Like == "" && p.vars(name) == nil {
		wrong("", "%s has no base_url, and no like, which names a vendor that it is another account of")
	}
	var vendors []string
	for _, v := range provider.Vendors() {
		vendors = append(vendors, v.Name)
	}
	if p.Like != "" && !slices.Contains(vendors, p.Like) {
		wrong(".like", "%s is like no vendor that is called %q%s", p.Like, cmp.Or(cli.DidYouMean(p.Like, vendors), "; there are "+strings.Join(vendors, ", ")))
	}
	if p.KeyEnv != "" && (secret.HasForm(p.KeyEnv) || !variableName(p.KeyEnv)) { // not repeated: it may be the key itself
		wrong(".key_env", "key_env of %s is no name of a variable; the key itself does not belong into the file")
	}
	if err := formats.Check(p.Wire); p.Wire != "" && err != nil {
		wrong(".wire", "%s: %v", err)
	}
	for _, name := range slices.Sorted(keys(p.Headers)) {
		if err := outbound.CheckHeader(name, p.Headers[name]); err != nil {
			wrong(".headers", "headers of %s: %v", err)
		}
		if ref := variableIn.FindString(p.Headers[name]); ref != "" {
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
	defaultTurns = 20
	maxTurns     = 500
)
