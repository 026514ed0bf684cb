// Package codingagents knows the coding agents that use a gateway: where each has its configuration, and what it has to
// say. An agent is a row of a table. One engine edits the files of all.
package codingagents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/wire"
)

// An Agent is a program and how it is told to use a gateway. Its texts have placeholders:
//
//	{URL}, {KEY}                     the address and the key of the gateway
//	{MODEL}                          the name of the model that it uses
//	{OPUS}, {SONNET}, {HAIKU}        the names for the three sizes of Claude
//	{SMALL}                          the name for titles and summaries
//	{CONTEXT}, {OUTPUT}, {PROMPT}    tokens of that model: its window, its longest answer, and the window without that
//	{IN}, {OUT}, {CACHED}            dollars for a million tokens; {IN1}, {OUT1} for one
//	{NAME}                           each name of the gateway in turn, with the numbers of its model
//	{FILE}                           the text of the first file
//	{COPY}, {COPY2}                  for a launch: a copy of the first or second file with these values
//
// A value that is not known is left out, and with it an object whose key ends in "!". A key that ends in "?" has a value
// that files keep.
type Agent struct {
	Name, Title string
	Format      string   // wire format; "" means chat
	Program     string   // to launch; "" for an agent with its own window
	Files       []File   // configuration files
	Env         []string // variables, as NAME=value
	Run         []string // command
	Prefers     string   // a word in the name of its main model, if there is such a name
	Asks        []string // all names that it asks for, if that is more than {MODEL}
	Note        string   // anything else the user should know
	Launch      Launch
}

// File is a configuration file. Its tree is JSON with placeholders, whatever the format of the file. "{ENV}" is replaced
// by the variables of the agent.
type File struct {
	Path, Format, Tree string
}

// Launch configures an agent by its command line and its environment. Its files do not change.
type Launch struct {
	Args    []string // before the arguments of the user
	Alone   []string // arguments if the user gives none
	Env     []string // in addition to Agent.Env
	Without []string // variables that it does not get
	// Overlay is a variable that names the folder of the configuration, and OverlayOf the usual folder. The agent gets a
	// folder with edited copies of its files, and links to everything else in that folder.
	Overlay, OverlayOf string
	OverlayIn          string // the folder below, if the variable names the one above
}

// Model is a name of a gateway, with facts about its model. Zero values are unknown.
type Model struct {
	Name            string
	Context, Output int
	In, Out, Cached float64 // dollars for a million tokens, if Priced
	Priced          bool
}

// Values fill in the placeholders of an agent.
type Values struct {
	URL, Key                   string
	Main                       Model
	Opus, Sonnet, Haiku, Small string
	All                        []Model // names that clients may ask for
	Copies                     []string
}

// EnvInFile reports whether a configuration file holds the variables.
func (a Agent) EnvInFile() bool {
	return slices.ContainsFunc(a.Files, func(f File) bool { return strings.Contains(f.Tree, "{ENV}") })
}

// WireFormat returns the format in which the agent asks.
func (a Agent) WireFormat() string { return cmp.Or(a.Format, wire.Chat) }

// Names returns the names of all agents, sorted.
func Names() []string {
	var names []string
	for _, a := range All {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

// Find returns an agent by its name.
func Find(name string) (Agent, bool) {
	i := slices.IndexFunc(All, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return All[i], true
}

// Configs returns the configuration files, filled in.
func (a Agent) Configs(v Values) ([]Config, error) {
	var out []Config
	for _, f := range a.Files {
		tree, err := parseTree(f.Tree)
		if err != nil {
			return nil, err
		}
		tree = expanded(tree, v, a)
		out = append(out, Config{f.Path, formats[f.Format], filled(tree, v.value(v.Main))})
	}
	return out, nil
}

// expanded repeats each value with the placeholder {NAME} for each model, and replaces the variables.
func expanded(tree any, v Values, a Agent) any {
	each := func(x any) (list []any) {
		for _, m := range v.All {
			list = append(list, filled(x, v.value(m)))
		}
		return list
	}
	switch x := tree.(type) {
	case string:
		if x == "{ENV}" {
			env := object{}
			for _, line := range a.Lines(a.Env, v) {
				name, value, _ := strings.Cut(line, "=")
				env = append(env, member{name, value})
			}
			return env
		}
	case object:
		out := object{}
		for _, m := range x {
			if strings.Contains(m.key, "{NAME}") {
				for _, e := range each(object{m}) {
					if o, ok := e.(object); ok {
						out = append(out, o...)
					}
				}
				continue
			}
			out = append(out, member{m.key, expanded(m.value, v, a)})
		}
		return out
	case []any:
		out := []any{}
		for _, e := range x {
			if strings.Contains(jsonText(e, ""), "{NAME}") {
				out = append(out, each(e)...)
				continue
			}
			out = append(out, expanded(e, v, a))
		}
		return out
	}
	return tree
}

// value returns the function that fills in a text with the numbers of a model.
func (v Values) value(m Model) func(string) any {
	number := func(n int) any {
		if n <= 0 {
			return unknown{}
		}
		return json.Number(strconv.Itoa(n))
	}
	price := func(p float64) any {
		if !m.Priced {
			return unknown{}
		}
		return json.Number(strconv.FormatFloat(p, 'f', -1, 64))
	}
	prompt := 0
	if m.Context > m.Output {
		prompt = m.Context - m.Output
	}
	numbers := map[string]any{
		"{CONTEXT}": number(m.Context), "{OUTPUT}": number(m.Output), "{PROMPT}": number(prompt),
		"{IN}": price(m.In), "{OUT}": price(m.Out), "{CACHED}": price(m.Cached),
		"{IN1}": price(m.In / 1e6), "{OUT1}": price(m.Out / 1e6),
	}
	words := strings.NewReplacer("{URL}", v.URL, "{KEY}", v.Key, "{MODEL}", v.Main.Name, "{NAME}", m.Name,
		"{OPUS}", v.Opus, "{SONNET}", v.Sonnet, "{HAIKU}", v.Haiku, "{SMALL}", v.Small)
	return func(text string) any {
		if n, ok := numbers[text]; ok {
			return n
		}
		for name, n := range numbers {
			if !strings.Contains(text, name) {
				continue
			}
			if isUnknown(n) {
				return unknown{}
			}
			text = strings.ReplaceAll(text, name, scalar(n))
		}
		if i := strings.Index(text, "{COPY"); i >= 0 {
			for k, file := range slices.Backward(v.Copies) {
				name := "{COPY}"
				if k > 0 {
					name = "{COPY" + strconv.Itoa(k+1) + "}"
				}
				text = strings.ReplaceAll(text, name, file)
			}
		}
		return words.Replace(text)
	}
}

// Lines fills in lines, such as variables or arguments. Those with a value that is not known are left out.
func (a Agent) Lines(lines []string, v Values) (out []string) {
	for _, line := range lines {
		if strings.Contains(line, "{FILE}") {
			configs, err := a.Configs(v)
			if err != nil || len(configs) == 0 {
				continue
			}
			var one bytes.Buffer
			if json.Compact(&one, []byte(configs[0].Text())) == nil {
				out = append(out, strings.ReplaceAll(line, "{FILE}", one.String()))
			}
			continue
		}
		if s, ok := v.value(v.Main)(line).(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Asked returns all names that the agent asks for.
func (a Agent) Asked(v Values) []string {
	var out []string
	for _, name := range a.Lines(append([]string{"{MODEL}"}, a.Asks...), v) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
