package configcheck_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
)

type file struct {
	Name   string          `yaml:"name"`
	Server server          `yaml:"server"`
	Hosts  map[string]host `yaml:"hosts"`
}

type server struct {
	Addr   string        `yaml:"addr" help:"where it listens" restart:"yes"`
	Size   int           `yaml:"size" help:"bytes" default:"10" min:"5" max:"20"`
	Wait   time.Duration `yaml:"wait" help:"how long" default:"1s" min:"1ms" negative:"for ever"`
	Mode   string        `yaml:"mode" help:"how" values:"fast slow"`
	Weight *int          `yaml:"weight" min:"1"`
	Parts  []part        `yaml:"parts"`
	limits `yaml:",inline"`
}

type limits struct {
	Most int `yaml:"most" unset:"no limit" restart:"presence"`
}

type (
	part struct {
		Model string `yaml:"model"`
	}
	host struct {
		URL string `yaml:"url"`
	}
)

var schema = &configcheck.Schema{Root: reflect.TypeFor[file](), Filled: "server", Hint: func(key, _ string) string {
	return map[string]string{"password": "write no passwords"}[key]
}}

// TestAllMistakesAreReported checks that every mistake of a file is reported, once and with its line.
func TestAllMistakesAreReported(t *testing.T) {
	const text = `nam: x
server:
  size: 3
  wait: 10
  mode: quick
  weight: 0
  most: 1e3
  addr: ""
  parts: [a]
  url: http://x
  password: y
hosts:
  server: {addr: x}
  mine: {url: [1]}
size: 7
`
	var f file
	r := schema.Read("f.yaml", []byte(text), &f)
	r.CheckDeclared(reflect.ValueOf(f.Server), "server")
	r.AddError(errors.Join(configcheck.Errorf("server.wait", "skipped: it is malformed"), configcheck.Errorf("hosts.mine", "joined")))
	r.Warn("server.mode", "just a warning")
	wrong, warnings := r.Split(true, "")
	want := []string{
		`f.yaml:1: nam: unknown field "nam"; did you mean name?`,
		`f.yaml:3: server.size: 3 is not between 5 and 20`,
		`f.yaml:4: server.wait: "10" is not a duration like 90s or 10m: it has no unit; write 10s for seconds`,
		`f.yaml:5: server.mode: "quick" is not one of fast, slow`,
		`f.yaml:6: server.weight: 0 is too small; the minimum is 1`,
		`f.yaml:7: server.most: "1e3" is not a whole number in digits; write 1000`,
		`f.yaml:8: server.addr: the value is empty, perhaps because a variable is not set; set a value, or leave the field out`,
		`f.yaml:9: server.parts[0]: expected fields, but found "a"; write {model: a}`,
		`f.yaml:10: server.url: unknown field "url"; it belongs below a name in hosts`,
		`f.yaml:11: server.password: unknown field "password"; write no passwords`,
		`f.yaml:13: hosts.server: server is indented below hosts and is read as a name there; it belongs at the top level, without indentation`,
		`f.yaml:14: hosts.mine.url: expected a text, but found a list or a section`,
		`f.yaml:14: hosts.mine: joined`,
		`f.yaml:15: size: unknown field "size"; it belongs below server`,
	}
	var got []string
	for _, m := range wrong {
		got = append(got, m.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(warnings) != 1 || warnings[0].String() != "f.yaml:5: warning: server.mode: just a warning" {
		t.Error(warnings)
	}
}

// TestValuesWithinBounds checks that declared defaults and meanings of numbers are respected.
func TestValuesWithinBounds(t *testing.T) {
	for text, want := range map[string]string{
		"server: {size: 5, wait: -1s, weight: 1, mode: slow}": "",
		"server: {size: 0}":   "f:1: warning: server.size: 0 means the default, which is 10; leave it out, or write another value",
		"server: {most: 0}":   "",
		"server: {wait: 1ns}": "f:1: server.wait: 1ns is too small; the minimum is 1ms",
		"server: *x":          "f:1: server: unknown anchor \"x\"",
		"server: {addr: a":    "f:1: the fields in braces that begin here do not end; a } is missing",
	} {
		var f file
		r := schema.Read("f", []byte(text), &f)
		r.CheckDeclared(reflect.ValueOf(f.Server), "server")
		var got []string
		for _, m := range r.List {
			got = append(got, m.String())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestNeedRestart checks that only declared changes need a restart.
func TestNeedRestart(t *testing.T) {
	a, b := server{Addr: "a", Size: 5, limits: limits{Most: 1}}, server{Addr: "b", Size: 6, limits: limits{Most: 2}}
	if got := configcheck.NeedRestart(reflect.ValueOf(a), reflect.ValueOf(b), "server"); !slices.Equal(got, []string{"server.addr"}) {
		t.Error(got)
	}
	b = server{Addr: "a"}
	if got := configcheck.NeedRestart(reflect.ValueOf(a), reflect.ValueOf(b), "server"); !slices.Equal(got, []string{"server.most"}) {
		t.Error(got)
	}
}

// TestAll checks that the settings are listed with their paths, for a reference page.
func TestAll(t *testing.T) {
	var got []string
	for _, f := range configcheck.All(reflect.TypeFor[file]()) {
		got = append(got, f.Path+" "+configcheck.KindOf(f.Type)+f.BoundsText())
	}
	want := []string{"name text", "server settings", "server.addr text", "server.size number; 5 to 20", "server.wait duration", "server.mode text", "server.weight number; at least 1", "server.parts list", "server.parts.model text", "server.most number", "hosts keys and values"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
