package codingagents

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// example is a gateway with two models, of which one has no known numbers.
func example() Values {
	return Values{
		URL: "http://127.0.0.1:8230", Key: "none",
		Main: Model{Name: "gpt-5", Context: 400000, Output: 128000, In: 1.25, Out: 10, Cached: 0.125, Priced: true},
		Opus: "claude-opus-4-8", Sonnet: "gpt-5", Haiku: "qwen3:8b", Small: "qwen3:8b",
		All: []Model{{Name: "gpt-5", Context: 400000, Output: 128000, In: 1.25, Out: 10, Cached: 0.125, Priced: true}, {Name: "qwen3:8b"}},
	}
}

// TestAgentConfigKeepsOtherSettings: each agent's existing files keep their comments and other settings, are copied
// before they change, and do not change a second time. The files of testdata show them before and after.
func TestAgentConfigKeepsOtherSettings(t *testing.T) {
	for _, a := range All {
		t.Run(a.Name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("USERPROFILE", home)
			t.Setenv("XDG_CONFIG_HOME", "")
			configs, err := a.Configs(example())
			if err != nil || len(configs) != len(a.Files) {
				t.Fatal(err)
			}
			if len(configs) == 0 {
				return
			}
			golden := filepath.Join("testdata", a.Name+".txtar")
			archive, err := txtar.ParseFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range configs {
				before := fileOf(t, archive, "before "+c.Path)
				file := Place(c.Path)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, before, 0o640); err != nil {
					t.Fatal(err)
				}
				w, err := c.Write()
				if err != nil || !w.Changed {
					t.Fatalf("%s: %v %+v", c.Path, err, w)
				}
				if copied, err := os.ReadFile(w.Backup); err != nil || !bytes.Equal(copied, before) {
					t.Errorf("%s: the copy: %v\n%s", c.Path, err, copied)
				}
				after, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if *update {
					setFile(archive, "after "+c.Path, after)
				} else if want := fileOf(t, archive, "after "+c.Path); !bytes.Equal(after, want) {
					t.Errorf("%s, after:\n%s\nwant:\n%s", c.Path, after, want)
				}
				for _, line := range strings.Split(string(before), "\n") {
					if kept := regexp.MustCompile("keep[a-z ]*").FindString(line); !strings.Contains(string(after), kept) {
						t.Errorf("%s: %q is gone", c.Path, line)
					}
				}
				if again, err := c.Write(); err != nil || again.Changed || again.Backup != "" {
					t.Errorf("%s, again: %v %+v", c.Path, err, again)
				}
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("%s: mode %v", c.Path, info.Mode())
				}
				if i == 0 && !strings.Contains(string(after), "http://127.0.0.1:8230") {
					t.Errorf("%s does not name the gateway:\n%s", c.Path, after)
				}
			}
			if *update {
				if err := os.WriteFile(golden, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func fileOf(t *testing.T, a *txtar.Archive, name string) []byte {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("testdata has no %q", name)
	}
	return a.Files[i].Data
}

func setFile(a *txtar.Archive, name string, data []byte) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		a.Files = append(a.Files, txtar.File{Name: name})
		i = len(a.Files) - 1
	}
	a.Files[i].Data = data
}

// TestAgentConfigsAreNew: files that do not exist are made, for their owner alone, and are valid.
func TestAgentConfigsAreNew(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, a := range All {
		configs, err := a.Configs(example())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range configs {
			w, err := c.Write()
			if err != nil || w.Backup != "" || !w.Changed {
				t.Fatalf("%s: %v %+v", a.Name, err, w)
			}
			if info, err := os.Stat(w.File); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", a.Name, info.Mode(), err)
			}
			text, _ := os.ReadFile(w.File)
			if strings.ContainsAny(strings.ReplaceAll(string(text), "${", ""), "\x00") || strings.Contains(string(text), "{MODEL}") || strings.Contains(string(text), "{URL}") || strings.Contains(string(text), "{CONTEXT}") {
				t.Errorf("%s: %s", a.Name, text)
			}
			if again, err := c.Write(); err != nil || again.Changed {
				t.Errorf("%s, again: %v %+v", a.Name, err, again)
			}
		}
	}
}

// editCase is a file that is edited, or refused.
type editCase struct{ format, before, with, after string }

// TestConfigEdits: values are merged into files in any layout, and a file that cannot be edited safely is refused.
func TestConfigEdits(t *testing.T) {
	for name, c := range map[string]editCase{
		"empty object":            {"json", "{}", `{"a":1}`, "{\n  \"a\": 1\n}"},
		"one line":                {"json", `{"b":2}`, `{"a":1}`, "{\"b\":2,\n  \"a\": 1\n}"},
		"trailing comma":          {"json", "{\n\t\"b\": 2, // why\n}\n", `{"a":1}`, "{\n\t\"b\": 2, // why\n\t\"a\": 1\n}\n"},
		"comment behind the last": {"json", "{\n  \"b\": 2 // why\n}\n", `{"a":1}`, "{\n  \"b\": 2, // why\n  \"a\": 1\n}\n"},
		"comment with a brace":    {"json", "/* } */ {\"b\": \"}//\"}", `{"b":"x"}`, "/* } */ {\"b\": \"x\"}"},
		"same value":              {"json", `{ "a" :  1 }`, `{"a":1}`, `{ "a" :  1 }`},
		"other type":              {"json", `{"a": [1]}`, `{"a":{"b":1}}`, "{\"a\": {\n  \"b\": 1\n}}"},
		"element of a list":       {"json", `{"m":[{"id":"x","keep":1},{"id":"y"}]}`, `{"m":[{"id":"x","n":2}]}`, "{\"m\":[{\"id\":\"x\",\"keep\":1,\n  \"n\": 2\n},{\"id\":\"y\"}]}"},
		"byte order mark":         {"json", "\ufeff{\"b\":2}", `{"b":3}`, "\ufeff{\"b\":3}"},
		"cut JSON":                {"json", `{"a": {"b"`, `{"a":1}`, "!"},
		"two values":              {"json", `{} {}`, `{"a":1}`, "!"},
		"a list at the top":       {"json", `[1]`, `{"a":1}`, "{\n  \"a\": 1\n}"},
		"deep":                    {"json", strings.Repeat("[", 5000), `{"a":1}`, "!"},
		"top value":               {"toml", "# mine\n[a]\nx = 1\n", `{"m":"v"}`, "m = \"v\"\n\n# mine\n[a]\nx = 1\n"},
		"value with a comment":    {"toml", "m = \"old\" # why\n[a]\nx = 1\n", `{"m":"v"}`, "m = \"v\" # why\n[a]\nx = 1\n"},
		"text with a hash":        {"toml", "m = \"a # b\"\n", `{"m":"v"}`, "m = \"v\"\n"},
		"many lines":              {"toml", "m = [\n  1, # ]\n]\nn = '''\n[x]\n'''\n", `{"m":"v"}`, "m = \"v\"\nn = '''\n[x]\n'''\n"},
		"inline table":            {"toml", "a = {b = {x = 1}}\n", `{"a":{"b":{"y":1}}}`, "!"},
		"dotted keys":             {"toml", "a.b.x = 1\n", `{"a":{"b":{"y":1}}}`, "!"},
		"list of tables":          {"toml", "[[a.b]]\nx = 1\n", `{"a":{"b":{"y":1}}}`, "!"},
		"quoted table":            {"toml", "[\"a\" . b]\nx = 1\n\n[c]\n", `{"a":{"b":{"x":1,"y":2}}}`, "[\"a\" . b]\nx = 1\ny = 2\n\n[c]\n"},
		"same name elsewhere":     {"toml", "[a]\nm = 1\n", `{"m":2}`, "m = 2\n\n[a]\nm = 1\n"},
		"open text":               {"toml", "m = \"\"\"\nabc\n", `{"m":2}`, "!"},
		"not TOML":                {"toml", "<xml>\n", `{"m":2}`, "!"},
		"YAML value":              {"yaml", "a: 1 # why\nb:\n  - x\n", `{"a":2}`, "a: 2 # why\nb:\n  - x\n"},
		"list at its key":         {"yaml", "m:\n- name: x\n  k: 1\n# end\n", `{"m":[{"name":"x","k":2},{"name":"z"}]}`, "m:\n- name: x\n  k: 2\n- name: z\n# end\n"},
		"list of YAML in a line":  {"yaml", "m: [{name: x}]\n", `{"m":[{"name":"y"}]}`, "!"},
		"block text":              {"yaml", "m: |\n  a: 1\n  - b\nn: 2\n", `{"n":3,"z":"yes"}`, "m: |\n  a: 1\n  - b\nn: 3\nz: \"yes\"\n"},
		"only comments":           {"yaml", "# mine\n", `{"x":3}`, "# mine\nx: 3\n"},
		"anchor":                  {"yaml", "a: &x\n  k: 1\nb: *x\n", `{"a":{"k":2}}`, "!"},
		"tab":                     {"yaml", "a:\n\tb: 1\n", `{"n":3}`, "!"},
		"list at the top of YAML": {"yaml", "# mine\n- model_id: a\n  x: 1\n", `[{"model_id":"b"}]`, "# mine\n- model_id: a\n  x: 1\n- model_id: b\n"},
		"variables":               {"dotenv", "# mine\nexport A=1\nB=2", `{"A":"x y","C":"3"}`, "# mine\nA=\"x y\"\nB=2\nC=3\n"},
	} {
		with, err := parseTree(c.with)
		if err != nil {
			t.Fatal(err)
		}
		config := Config{format: formats[c.format], tree: with}
		got, err := config.Edited([]byte(c.before))
		if c.after == "!" {
			if err == nil {
				t.Errorf("%s is not refused:\n%s", name, got)
			}
			continue
		}
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%q\nwant\n%q", name, err, got, c.after)
			continue
		}
		if again, err := config.Edited(got); err != nil || string(again) != c.after {
			t.Errorf("%s, again: %v\n%q", name, err, again)
		}
		crlf := strings.ReplaceAll(c.before, "\n", "\r\n")
		if got, err := config.Edited([]byte(crlf)); strings.Contains(c.before, "\n") && (err != nil || string(got) != strings.ReplaceAll(c.after, "\n", "\r\n")) {
			t.Errorf("%s, with CR: %v %q", name, err, got)
		}
	}
}

// TestRefusedConfigsStay: a file that cannot be edited is not touched and not copied.
func TestRefusedConfigsStay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	for _, before := range []string{"{\"a\": ", "\x00\x01", strings.Repeat(" ", maxFile) + "{}"} {
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		c := Config{Path: file, format: formats["json"], tree: object{{"a", "b"}}}
		if _, err := c.Write(); err == nil {
			t.Errorf("%.10q is not refused", before)
		}
		if after, _ := os.ReadFile(file); string(after) != before {
			t.Errorf("%.10q was changed", before)
		}
		if list, _ := filepath.Glob(file + ".*"); len(list) > 0 {
			t.Errorf("%v", list)
		}
	}
}

// TestEarlierCopiesStay: each change has its own copy.
func TestEarlierCopiesStay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	var copies []string
	for _, text := range []string{`{"first":1}`, `{"second":2}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := (Config{Path: file, format: formats["json"], tree: object{{"a", "b"}}}).Write()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(w.Backup)
		if copies = append(copies, w.Backup); string(got) != text {
			t.Errorf("%s has %s", w.Backup, got)
		}
	}
	if copies[0] == copies[1] {
		t.Error(copies)
	}
}

// TestLaunchLeavesConfigAlone: an agent that is launched gets a folder with its other files, and its own stay.
func TestLaunchLeavesConfigAlone(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	own := filepath.Join(home, ".cline", "data", "settings", "providers.json")
	beside := filepath.Join(home, ".cline", "data", "tasks", "1.json")
	for file, text := range map[string]string{own: `{"providers":{"mine":{}}}`, beside: "{}"} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := Find("cline")
	dir := t.TempDir()
	p, err := a.Prepare(dir, example())
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "config")
	copied, _ := os.ReadFile(filepath.Join(at, "data", "settings", "providers.json"))
	task, err := os.ReadFile(filepath.Join(at, "data", "tasks", "1.json"))
	if err != nil || string(task) != "{}" || !strings.Contains(string(copied), `"mine"`) || !strings.Contains(string(copied), "8230") {
		t.Errorf("%v\n%s", err, copied)
	}
	if !slices.ContainsFunc(append(p.Env, p.Args...), func(line string) bool { return strings.Contains(line, at) }) {
		t.Errorf("%q %q do not name the folder", p.Env, p.Args)
	}
	// What the agent makes is kept: new files, and files that it replaces instead of writing into them.
	if err := os.WriteFile(filepath.Join(at, "data", "new.json"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Keep(); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(home, ".cline", "data", "new.json")); err != nil || string(kept) != "new" {
		t.Errorf("a new file: %v %s", err, kept)
	}
	if text, _ := os.ReadFile(own); string(text) != `{"providers":{"mine":{}}}` {
		t.Errorf("the file was changed: %s", text)
	}
}

// TestLaunchEnvironment: the variables of the gateway replace the user's, and keys for elsewhere are left out.
func TestLaunchEnvironment(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	a, _ := Find("claude-code")
	p, err := a.Prepare(t.TempDir(), example())
	if err != nil {
		t.Fatal(err)
	}
	env := p.Environ([]string{"ANTHROPIC_API_KEY=secret", "ANTHROPIC_AUTH_TOKEN=secret", "PATH=/bin"})
	for line, want := range map[string]bool{"PATH=/bin": true, "ANTHROPIC_AUTH_TOKEN=none": true, "ANTHROPIC_BASE_URL=http://127.0.0.1:8230": true, "ANTHROPIC_DEFAULT_OPUS_MODEL=claude-opus-4-8": true, "CLAUDE_CODE_AUTO_COMPACT_WINDOW=400000": true, "ANTHROPIC_API_KEY=secret": false, "ANTHROPIC_AUTH_TOKEN=secret": false} {
		if slices.Contains(env, line) != want {
			t.Errorf("%s: %q", line, env)
		}
	}
}
