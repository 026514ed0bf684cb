package serve_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/linear"
)

// TestConfigurationsMerge: a route or a provider may override merged settings (<<). Duplicates in one mapping are
// refused. The command and the gateway read the file alike.
func TestConfigurationsMerge(t *testing.T) {
	const first = "gateway:\n  routes:\n    - &base\n      model: a\n      to: [{model: sim/offline}]\n      max_requests: 3\n"
	const provider = "providers:\n  one: &one\n    base_url: http://127.0.0.1:1/v1\n    wire: messages\n"
	for name, c := range map[string]struct{ config, refused string }{
		"a route":            {first + "    - <<: *base\n      model: b\n", ""},
		"a route, behind":    {first + "    - model: b\n      <<: *base\n", ""},
		"a provider":         {provider + "  two:\n    <<: *one\n    base_url: http://127.0.0.1:2/v1\n", ""},
		"the same route":     {first + "    - <<: *base\n", "routes 1 and 2 are both for a"},
		"twice":              {first + "    - <<: *base\n      model: b\n      model: c\n", `mapping key "model" already defined`},
		"a key of no name":   {first + "    - <<: *base\n      modle: b\n", `unknown field "modle"`},
		"no mapping":         {first + "    - <<: 5\n      model: b\n", ":7:"},
		"twice of a section": {provider + "providers: {}\n", `mapping key "providers" already defined`},
	} {
		said, err := checked(t, c.config)
		if (err != nil) != (c.refused != "") || !strings.Contains(said, c.refused) {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
	var s settings.Settings
	if _, err := settings.Decode([]byte(first+"    - model: b\n      <<: *base\n"+provider+"  two:\n    <<: *one\n    base_url: http://127.0.0.1:2/v1\n"), &s); err != nil {
		t.Fatal(err)
	}
	if r := s.Gateway.Routes; len(r) != 2 || r[1].Model != "b" || r[1].MaxRequests != 3 || len(r[1].To) != 1 || r[0].Model != "a" {
		t.Errorf("the routes are %+v", r)
	}
	if p := s.Providers; p["two"].BaseURL != "http://127.0.0.1:2/v1" || p["two"].Wire != "messages" || p["one"].BaseURL != "http://127.0.0.1:1/v1" {
		t.Errorf("the providers are %+v", p)
	}
}

// The content of a file never controls the terminal that shows its mistakes. A key in place of a name is not printed.
func TestCheckOutputIsPrintable(t *testing.T) {
	for name, test := range map[string]struct {
		text, want string
		hidden     []string
	}{
		"setting":   {"gateway:\n  \"evil\\e[31m\": 1\n", "evil␛[31m", []string{"\x1b"}},
		"direction": {"gateway:\n  routes:\n    - {model: \"a\\u202eb\", to: [{model: sim/native}]}\n", `a\u202eb`, []string{"\u202e"}},
		"host":      {"providers:\n  x: {base_url: 'http://127.0.0.1:1/v1', headers: {host: evil}}\n", "follows from the request itself", nil},
		"key":       {"providers:\n  x: {base_url: 'http://127.0.0.1:1/v1', key_env: hunter2-abcdefghijklmnop}\ngateway:\n  routes:\n    - {model: m, to: [{model: x/y}]}\n", "", []string{"hunter2"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "g.yml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := programtest.Run(t, "", "serve", "--check", "--config", file)
			all := got.Out + got.ErrOut
			if !strings.Contains(all, test.want) {
				t.Errorf("no %q in %q", test.want, all)
			}
			for _, h := range test.hidden {
				if strings.Contains(all, h) {
					t.Errorf("%q in %q", h, all)
				}
			}
		})
	}
}

// The same holds for messages of import.
func TestImportOutputIsPrintable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l.yml")
	if err := os.WriteFile(file, []byte("model_list:\n  - {model_name: \"evil\\e[31m\", litellm_params: {model: openai/gpt-4o}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := programtest.Run(t, "", "serve", "import", file)
	if all := got.Out + got.ErrOut; strings.Contains(all, "\x1b") || !strings.Contains(all, "evil") {
		t.Errorf("%q", all)
	}
}

// TestCheckMissingKeyNamesOtherUpstreams: a warning about an upstream without a key mentions other upstreams only if they can answer.
func TestCheckMissingKeyNamesOtherUpstreams(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("ANTHROPIC_API_KEY", "")
	const openai, anthropic, offline = "{model: openai/gpt-4o}", "{model: anthropic/claude-sonnet-4-5}", "{model: sim/offline}"
	for to, answered := range map[string]bool{
		openai:                    false,
		openai + ", " + anthropic: false,
		openai + ", " + offline:   true,
		openai + ", {model: sim/offline, weight: 0}": false,
	} {
		programtest.Place(t, "gateway.yaml", "gateway:\n  routes: [{model: a, to: ["+to+"]}]\n")
		said := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml").ErrOut
		if strings.Contains(said, "the other upstreams of a answer instead") != answered || strings.Contains(said, "clients of a get no answer") == answered {
			t.Errorf("%s: %s", to, said)
		}
	}
}

// TestCheckWildcardAddresses: an invalid address is refused for any model name. --check and serve use the same
// words, which name the provider and the setting and contain no password.
func TestCheckWildcardAddresses(t *testing.T) {
	t.Setenv("UP_HOST", "127.0.0.1:1")
	config := func(base, model, to string) string {
		return fmt.Sprintf("providers:\n  up: {base_url: %q, wire: chat}\ngateway:\n  routes: [{model: %q, to: [{model: %q}]}]\n", base, model, to)
	}
	for base, says := range map[string]string{
		"http://user:s3cret@127.0.0.1:1/v1": "the address holds a user or password",
		"http://127.0.0.1:1/v1?key=s3cret":  "the address ends with a query or a fragment",
		"http://127.0.0.1:1/v1?":            "the address ends with a query or a fragment",
		"http://127.0.0.1:1/v1#s3cret":      "the address ends with a query or a fragment",
		"ftp://127.0.0.1:1/v1":              "an address begins with http:// or https://, not ftp://",
		"127.0.0.1:1/v1":                    "an address begins with http:// or https://",
		"//127.0.0.1:1/v1":                  "an address begins with http:// or https://",
		"http:///v1":                        "the address has no host",
		" http://127.0.0.1:1/v1 ":           "the address cannot be read",
		"http://127.0.0.1:1/v1\n":           "the address cannot be read",
		"http://127.0.0.1:99999/v1":         `"99999" is not a port`,
	} {
		for _, route := range [][2]string{{"a-*", "up/*"}, {"a", "up/m"}} {
			t.Run(base+" "+route[1], func(t *testing.T) {
				clitest.Bare(t, map[string]string{"gateway.yaml": config(base, route[0], route[1])})
				checked := programtest.Run(t, "", "serve", "--config", "gateway.yaml", "--check")
				served := within(t, programtest.LongWait, "serve", "--config", "gateway.yaml")
				if checked.Code == 0 || checked.Code != served.Code || refusalOf(checked) != refusalOf(served) {
					t.Errorf("--check says %d %s\nand serve says %d %s", checked.Code, checked.ErrOut, served.Code, served.ErrOut)
				}
				for _, want := range []string{":4: gateway.routes[0].to[0].model: ", says, "see base_url of up in providers"} {
					if !strings.Contains(checked.ErrOut, want) || strings.Contains(checked.ErrOut, "s3cret") {
						t.Errorf("it does not say %q but\n%s", want, checked.ErrOut)
					}
				}
			})
		}
	}
	clitest.Bare(t, map[string]string{"gateway.yaml": config("${NO_SUCH_BASE}/v1", "a-*", "up/*")}) // the variable may be set where the gateway runs
	const unset = "up: its address needs NO_SUCH_BASE to be set; see base_url of up in providers"
	if r := programtest.Run(t, "", "serve", "--config", "gateway.yaml", "--check"); r.Code != 0 || !strings.Contains(r.ErrOut, ":4: warning: ") || !strings.Contains(r.ErrOut, unset) {
		t.Errorf("--check says %d %s", r.Code, r.ErrOut)
	}
	if r := within(t, programtest.LongWait, "serve", "--config", "gateway.yaml"); r.Code == 0 || !strings.Contains(r.ErrOut, unset) {
		t.Errorf("serve says %d %s", r.Code, r.ErrOut)
	}
	for _, good := range []string{config("http://127.0.0.1:1/v1/", "*", "up/*"), config("http://${UP_HOST}/v1", "*", "*"), config("${NO_SUCH_BASE}/v1", "*", "sim/*")} {
		clitest.Bare(t, map[string]string{"gateway.yaml": good})
		if r := programtest.Run(t, "", "serve", "--config", "gateway.yaml", "--check"); r.Code != 0 {
			t.Errorf("%s\nis refused: %s", good, r.ErrOut)
		}
	}
}

// TestCheckReportsEachMistakeOnce: a value that is not allowed has one line, although the file and the gateway both check it.
func TestCheckReportsEachMistakeOnce(t *testing.T) {
	clitest.Bare(t, nil)
	said, err := checked(t, `gateway:
  routes:
    - model: m
      strategy: random
      retries: 99
      timeout: -1s
      cooldown: -1s
      to:
        - {model: sim/offline, retries: -1, first_byte: -1s, idle: -1s, max_in_flight: -1}
`)
	for _, path := range []string{"strategy", "retries", "timeout", "cooldown", "to[0].retries", "to[0].first_byte", "to[0].idle", "to[0].max_in_flight"} {
		if n := strings.Count(said, " gateway.routes[0]."+path+": "); err == nil || n != 1 {
			t.Errorf("%s is reported %d times, %v", path, n, err)
		}
	}
	if n := strings.Count(said, "gateway.routes[0]"); n != 8 {
		t.Errorf("%d lines:\n%s", n, said)
	}
}

// TestCheckImplausibleSettings: implausible settings are refused or reported, once and in suitable words.
func TestCheckImplausibleSettings(t *testing.T) {
	clitest.Bare(t, nil)
	const to = "to: [{model: sim/offline}]"
	for _, c := range []struct {
		config, says, not string
		wrong             bool
	}{
		{"gateway:\n  routes:\n    - {model: 'fast ', " + to + "}\n", `:3: gateway.routes[0].model: route 1 (fast ): "fast " begins or ends with spaces`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, to: [{model: ' sim/offline'}]}\n", `gateway.routes[0].to[0].model: route 1 (fast): " sim/offline" begins or ends with spaces`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", thinking: 7}\n", `"7" is not a level of thinking`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", thinking: high}\n", "", "thinking", false},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", pass: [files], pass_team: ops}\n", ":3: warning: gateway.routes[0].pass_team: it has no effect without keys", "", false},
		{"gateway:\n  keys: sqlite:k.db\n  routes:\n    - {model: fast, " + to + ", pass: [files], pass_team: ops}\n", "", "pass_team", false},
		{"gateway:\n  routes:\n    - {model: a, " + to + ", fallback: [b]}\n    - {model: b, " + to + ", fallback: [c]}\n    - {model: c, " + to + ", fallback: [a]}\n", ":3: warning: gateway.routes[0].fallback: these fallbacks form a cycle (a → b → c → a)", "routes[1].fallback", false},
		{"gateway:\n  routes:\n    - {model: a, " + to + ", fallback: [b, c]}\n    - {model: b, " + to + ", fallback: [c]}\n    - {model: c, " + to + "}\n", "", "cycle", false},
		{"gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline, weight: two}]}\n", "weight", "no upstream that is asked", true},
		{"gateway:\n  drain: -5s\n  routes: [{model: a, " + to + "}]\n", ":2: gateway.drain: -5s is too small; the minimum is 1ms", "give a unit", true},
		{"model_list:\n  - {model_name: a}\n", `:1: model_list: unknown field "model_list"; this looks like a configuration of the LiteLLM proxy; 'toolpost serve import FILE' converts it`, "", true},
		{"gateway:\n  routes:\n    - &r\n      model: fast\n      " + to + "\n    - <<: *r\n      model: fast2\n", "", "gateway.yaml: ", false},
	} {
		said, err := checked(t, c.config)
		if strings.Contains(c.config, "<<") { // it does not matter here whether this is an error
			c.wrong = err != nil
		}
		if (err != nil) != c.wrong || !strings.Contains(said, c.says) || c.not != "" && strings.Contains(said, c.not) {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
}

// within runs the command and interrupts it after a time limit.
func within(t *testing.T, limit time.Duration, args ...string) programtest.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var out, errOut bytes.Buffer
	code := program.Run(ctx, args, strings.NewReader(""), &out, &errOut)
	return programtest.Result{Code: code, Out: out.String(), ErrOut: errOut.String()}
}

// refusalOf returns the error at the end of a command's output.
func refusalOf(r programtest.Result) string {
	return r.ErrOut[max(strings.Index(r.ErrOut, "toolpost: "), 0):]
}

const goodRoute = "  routes: [{model: a, to: [{model: sim/offline}]}]\n"

// refused are configurations that serve refuses, with the expected errors. F is replaced by the file.
var refused = []struct {
	name, config string
	args         string
	says         []string
}{
	{"keys of no store", "gateway:\n  keys: keys.db\n" + goodRoute, "", []string{"F:2: gateway.keys: unknown kind of store; write sqlite:FILE or postgres://…"}},
	{"keys of a flag", "gateway:\n" + goodRoute, "--keys nonsense", []string{"--keys: unknown kind of store; write sqlite:FILE"}},
	{"keys in no folder", "gateway:\n  keys: sqlite:nowhere/x.db\n" + goodRoute, "", []string{"F:2: gateway.keys: nowhere/x.db cannot be created: there is no folder nowhere"}},
	{"keys in another file", "gateway:\n  keys: sqlite:F\n" + goodRoute, "", []string{"F:2: gateway.keys: F is not an SQLite database"}},
	{"keys in no file", "gateway:\n  keys: 'sqlite:'\n" + goodRoute, "", []string{"F:2: gateway.keys: sqlite: names no file"}},
	{"state in a folder", "gateway:\n  state: 'sqlite:.'\n" + goodRoute, "", []string{"F:2: gateway.state: the database cannot be opened"}},
	{"an address of no database", "gateway:\n  keys: postgres://u@h:nan/x\n" + goodRoute, "", []string{"F:2: gateway.keys: the address of the database cannot be read"}},
	{"empty keys", "gateway:\n  keys: \"\"\n" + goodRoute, "", []string{"F:2: gateway.keys: the value is empty"}},
	{"no keys", "gateway:\n  keys:\n" + goodRoute, "", []string{"gateway.keys: the value is empty"}},
	{"administrators without keys", "gateway:\n  admin_addr: 127.0.0.1:8232\n" + goodRoute, "", []string{"F:2: gateway.admin_addr: it manages keys, and the gateway has none: set keys"}},
	{"bodies without keys", "gateway:\n  log_bodies: true\n  log_body_size: 5\n" + goodRoute, "", []string{"F:2: gateway.log_bodies: requests and answers are kept next to the log of requests, which needs keys: set keys", "F:3: gateway.log_body_size: 5 is not between 256 and 1048576"}},
	{"bodies of a route without keys", "gateway:\n  routes: [{model: a, to: [{model: sim/offline}], log_bodies: true}]\n", "", []string{"F:2: gateway.routes[0].log_bodies: "}},
	{"equal addresses", "gateway:\n  addr: 127.0.0.1:8239\n  ops_addr: 127.0.0.1:8239\n" + goodRoute, "", []string{"F:3: gateway.ops_addr: 127.0.0.1:8239 is already the address of addr (127.0.0.1:8239)"}},
	{"one address in another", "gateway:\n  keys: sqlite:k.db\n  addr: localhost:8239\n  admin_hosts: [x]\n  admin_addr: 0.0.0.0:8239\n" + goodRoute, "", []string{"F:5: gateway.admin_addr: 0.0.0.0:8239 is already the address of addr (localhost:8239)"}},
	{"no address", "gateway:\n  addr: 8230\n" + goodRoute, "", []string{`F:2: gateway.addr: "8230" is not an address`}},
	{"no address of a flag", "gateway:\n" + goodRoute, "--addr localhost", []string{`--addr: "localhost" is not an address`}},
	{"a public address", "gateway:\n  addr: 0.0.0.0:0\n" + goodRoute, "", []string{"F:2: gateway.addr: 0.0.0.0:0 is reachable from other machines, and without keys"}},
	{"all classes at once", "gateway:\n  drain: 30\n  adr: x\n  routes:\n    - {model: fast, check: maybe, to: [{model: nobody/x}]}\n    - {model: fast, to: [{model: sim/offline, weight: -1}], fallback: [zzz]}\n", "", []string{
		`F:2: gateway.drain: "30" is not a duration`, `F:3: gateway.adr: unknown field "adr"; did you mean addr?`, `F:5: gateway.routes[0].check: route 1 (fast): there is no check "maybe"`,
		"F:5: gateway.routes[0].to[0].model: route 1 (fast): ", "nobody is known to serve", "F:6: gateway.routes[1].model: route 2 (fast): routes 1 and 2 are both for fast",
		"F:6: gateway.routes[1].to[0].weight: route 2 (fast): the weight of sim/offline is -1", `F:6: gateway.routes[1].fallback[0]: route 2 (fast): no other route is for its fallback "zzz"`,
	}},
	{"all words of a route", "gateway:\n  routes:\n    - model: a\n      to: [{model: sim/offline, tools: magic, style: klingon}]\n      check: maybe\n      from: [soap]\n      tool_choice: often\n      text_calls: some\n      dialect: klingon\n      approval: ask\n      max_requests: -3\n      cache: -1s\n      thinking: a lot\n", "", []string{
		"F:4: gateway.routes[0].to[0].tools:", "F:4: gateway.routes[0].to[0].style: route 1 (a): no dialect that can be taught", "F:5: gateway.routes[0].check:", "F:6: gateway.routes[0].from[0]:", "F:7: gateway.routes[0].tool_choice:",
		"F:8: gateway.routes[0].text_calls:", "F:9: gateway.routes[0].dialect:", "F:10: gateway.routes[0].approval: route 1 (a): it has no effect, because the route has neither tools nor mcp", `"ask" is not one of refuse, pending`,
		"F:11: gateway.routes[0].max_requests: route 1 (a): -3 is less than 0", "F:12: gateway.routes[0].cache: route 1 (a): answers can be given again for up to", "F:13: gateway.routes[0].thinking:",
	}},
	{"tools that are not there", "gateway:\n  routes:\n    - model: a\n      to: [{model: sim/offline}]\n      tools: [rm_rf, read_fil]\n      mcp: [none]\n      rounds: -1\n      yes_to: [wite]\n      approval_for: 1h\n      max_requests: -3\n", "", []string{
		"F:5: gateway.routes[0].tools[0]: route 1 (a): tools: no tool is called rm_rf", "F:5: gateway.routes[0].tools[1]: route 1 (a): tools: no tool is called read_fil; did you mean read_file?",
		"F:6: gateway.routes[0].mcp[0]: route 1 (a): mcp none:", "F:7: gateway.routes[0].rounds: -1 is too small; the minimum is 1", "F:8: gateway.routes[0].yes_to[0]: route 1 (a): yes_to: it has no tool wite",
		"F:9: gateway.routes[0].approval_for: route 1 (a): it has no effect without approval: pending", "F:10: gateway.routes[0].max_requests:",
	}},
	{"a wait that is too long", "gateway:\n  routes: [{model: a, to: [{model: sim/offline}], tools: [write_file], approval: pending, approval_for: 9000h}]\n", "", []string{"gateway.routes[0].approval_for: 9000h0m0s is not between 1ms and 720h0m0s"}},
	{"providers", "providers:\n  one:\n    key_env: A-B\n    base_url: http://x/v1\n  two: {wire: chat}\n  three: {base_url: http://x, wire: soap}\n  four: {base_ur: x}\ngateway:\n" + goodRoute, "", []string{
		"F:3: providers.one.key_env: key_env of one is not a name of a variable", "F:5: providers.two: two has no base_url", `F:6: providers.three.wire: three: unknown format "soap"; the formats are `,
		`F:7: providers.four.base_ur: unknown field "base_ur"; did you mean base_url?`,
	}},
	{"no whole numbers", "gateway:\n  max_requests: 1.5\n  routes:\n    - {model: a, to: [{model: sim/offline, weight: 1.5}]}\n", "", []string{`F:2: gateway.max_requests: "1.5" is not a whole number`, `F:4: gateway.routes[0].to[0].weight: "1.5" is not a whole number`}},
	{"a weight without end", "gateway:\n  routes: [{model: a, to: [{model: sim/offline, weight: 99999999999}]}]\n", "", []string{"F:2: gateway.routes[0].to[0].weight: route 1 (a): the weight of sim/offline is 99999999999; it can be 0"}},
	{"nobody is asked", "gateway:\n  routes: [{model: a, to: [{model: sim/offline, weight: 0}]}]\n", "", []string{"F:2: gateway.routes[0].to: route 1 (a): it has no upstream that is asked"}},
	{"for nobody", "gateway:\n  routes: [{model: a, to: [{model: sim/offline}], from: []}]\n", "", []string{"F:2: gateway.routes[0].from: route 1 (a): the list is empty"}},
	{"cache_tools alone", "gateway:\n  routes: [{model: a, to: [{model: sim/offline}], cache_tools: true}]\n", "", []string{"gateway.routes[0].cache_tools: route 1 (a): it is for cache"}},
	{"no names", "gateway:\n  routes:\n    - {to: [{weight: 2}]}\n", "", []string{"F:3: gateway.routes[0].model: route 1: it names no model", "F:3: gateway.routes[0].to[0].model: route 1: it names no model; say who answers"}},
	{"nearly known", "gatway: {}\ngateway:\n  Addr: x\n  routes:\n    - {model: a, fallbacks: [b], to: [{model: sim/offline, wieght: 1}]}\n", "", []string{
		"F:1: gatway: unknown field \"gatway\"; did you mean gateway?", "F:3: gateway.Addr: unknown field \"Addr\"; did you mean addr?", "did you mean fallback?", "did you mean weight?"}},
	{"durations", "gateway:\n  keep_alive: 5 minutes\n  answers_for: 30d\n" + goodRoute, "", []string{`F:2: gateway.keep_alive: "5 minutes" is not a duration like 90s or 10m`, `F:3: gateway.answers_for: "30d" is not a duration like 90s or 10m; the largest unit is h, and a day is 24h`}},
	{"a tab", "gateway:\n\troutes: []\n", "", []string{"F:2: this line has a tab; YAML is indented with spaces only"}},
	{"an open list", "gateway:\n  routes: [{model: a}\n", "", []string{"F:2: the list that begins here does not end; a ] is missing"}},
	{"no setting", "gateway:\n  routes: []\n  hello\n", "", []string{"expected a field and its value"}},
	{"texts as upstreams", "gateway:\n  routes:\n    - {model: a, to: [sim/offline]}\n", "", []string{`F:3: gateway.routes[0].to[0]: expected fields, but found "sim/offline"; write {model: sim/offline}`}},
	{"a list of settings", "gateway:\n  - addr: x\n", "", []string{"F:2: gateway: expected fields, but found a list"}},
	{"a text for a list", "gateway:\n  routes: [{model: a, to: [{model: sim/offline}], from: chat}]\n", "", []string{"F:2: gateway.routes[0].from: expected a list; write [chat]"}},
	{"settings for a list", "gateway:\n  routes:\n    model: a\n", "", []string{"F:3: gateway.routes: expected a list, but found fields"}},
	{"an environment that is wrong", "gateway:\n" + goodRoute, "", nil},
	{"no file", "", "--config nowhere.yaml", []string{"nowhere.yaml: the configuration cannot be read: "}},
}

// TestCheckAndServeRefuseTheSame: --check reports all errors of serve at once, in the same words, with file, line and
// setting.
func TestCheckAndServeRefuseTheSame(t *testing.T) {
	for _, test := range refused {
		t.Run(test.name, func(t *testing.T) {
			clitest.Bare(t, map[string]string{"gateway.yaml": strings.ReplaceAll(test.config, "sqlite:F", "sqlite:gateway.yaml")})
			t.Setenv(serve.AdminKeyEnv, "an-admin-key-of-more-than-24-bytes")
			if test.says == nil {
				t.Setenv("TOOLPOST_MAX_TURNS", "many")
				test.says = []string{"TOOLPOST_MAX_TURNS"}
			}
			args := append([]string{"serve", "--config", "gateway.yaml"}, strings.Fields(test.args)...)
			checked := programtest.Run(t, "", append(args, "--check")...)
			served := within(t, programtest.LongWait, args...)
			if checked.Code != served.Code || checked.Code == 0 || refusalOf(checked) != refusalOf(served) {
				t.Errorf("--check says %d %s\nand serve says %d %s", checked.Code, checked.ErrOut, served.Code, served.ErrOut)
			}
			for _, line := range test.says {
				if line = strings.ReplaceAll(line, "F:", "gateway.yaml:"); !strings.Contains(checked.ErrOut, strings.ReplaceAll(line, "F is", "gateway.yaml is")) {
					t.Errorf("it does not say %q but\n%s", line, checked.ErrOut)
				}
			}
			for _, word := range []string{"reflect", "struct", "unmarshal", "int64", "time:", "panic", "mapping"} {
				if strings.Contains(checked.ErrOut, word) {
					t.Errorf("%q in %s", word, checked.ErrOut)
				}
			}
			if left, _ := filepath.Glob("*.db*"); len(left) > 0 {
				t.Errorf("files were made: %v", left)
			}
		})
	}
}

// TestCheckWarns: probable mistakes are warnings, not errors. Something missing only in the environment does not fail a
// check.
func TestCheckWarns(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv(serve.AdminKeyEnv, "")
	for config, says := range map[string]string{
		"gateway: {}\n": "there are no routes, so the offline model answers for every name",
		"gateway:\n  routes: [{model: a, to: [{model: sim/offline}, {model: sim/native, weight: 0}]}]\n":                                     ":2: warning: gateway.routes[0].to[1].weight: a weight of 0 takes sim/native out of the selection",
		"gateway:\n  keys: postgres://u:hunter2@db/x\n" + goodRoute:                                                                          ":2: warning: gateway.keys: the file contains a password; put the address into the variable TOOLPOST_GATEWAY_KEYS",
		"gateway:\n  ops_hosts: [x.y]\n" + goodRoute:                                                                                         ":2: warning: gateway.ops_hosts: it has no effect without ops_addr, which is not set",
		"gateway:\n  log_retention: 1h\n" + goodRoute:                                                                                        ":2: warning: gateway.log_retention: it has no effect without keys",
		"gateway:\n  keys: sqlite:k.db\n  log_bodies: true\n  log_retention: 48h\n" + goodRoute:                                              ":3: warning: gateway.log_bodies: requests and answers are kept for 48h0m0s; known secrets are removed, but others may remain",
		"gateway:\n  keys: sqlite:k.db\n  routes: [{model: a, to: [{model: sim/offline}], log_bodies: true}]\n":                              ":3: warning: gateway.routes[0].log_bodies: requests and answers are kept for 720h0m0s",
		"gateway:\n  keys: sqlite:k.db\n  log_body_size: 1000\n" + goodRoute:                                                                 ":3: warning: gateway.log_body_size: it has no effect without log_bodies, which is not set",
		"gateway:\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:8232\n" + goodRoute:                                                          ":3: warning: gateway.admin_addr: it needs a key for administrators in TOOLPOST_ADMIN_KEY",
		"gateway:\n  routes:\n    - {model: v, pass: [embeddings], to: [{model: openai/text-embedding-3-small}]}\n":                          ":3: warning: gateway.routes[0].to[0].model: clients of v get no answer: openai: auth: no key: set OPENAI_API_KEY",
		"gateway:\n  routes: [{model: a, to: [{model: sim/offline}], tools: [write_file], approval: pending}]\n":                             ":2: warning: gateway.routes[0].approval: waiting calls are kept in memory, and a restart forgets them",
		"mcp_servers: {tickets: {command: no-such-program}}\ngateway:\n  routes: [{model: a, to: [{model: sim/offline}], mcp: [tickets]}]\n": ":3: warning: gateway.routes[0].mcp[0]: the tools of tickets are missing until the server can be started",
	} {
		programtest.Place(t, "gateway.yaml", config)
		got := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml")
		if got.Code != 0 || !strings.Contains(got.ErrOut, says) || strings.Contains(got.ErrOut, "hunter2") {
			t.Errorf("%s: %d %s", config, got.Code, got.ErrOut)
		}
	}
	programtest.Place(t, "gateway.yaml", "gateway:\n")
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"), 0, "there are no routes: the offline model answers for every name")
	programtest.Place(t, "gateway.yaml", "gateway:\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:0\n"+goodRoute)
	if got := within(t, programtest.LongWait, "serve", "--addr", "127.0.0.1:0", "--config", "gateway.yaml"); got.Code != 1 || !strings.Contains(got.ErrOut, "it needs a key for administrators") {
		t.Errorf("%d %s", got.Code, got.ErrOut)
	}
	if _, err := os.Stat("k.db"); err == nil {
		t.Error("a gateway that was refused made its store")
	}
}

// TestCheckPasses: valid files pass in every notation.
func TestCheckPasses(t *testing.T) {
	clitest.Bare(t, nil)
	for _, config := range []string{
		"gateway:\n  routes:\n    - model: a\n      to: &up [&one {model: sim/offline}]\n    - {model: b, to: *up, fallback: [a]}\n    - {model: c, to: [{<<: *one, weight: 2}]}\n",
		"gateway: {routes: [{model: '*', to: [{model: 'sim/*', weight: 3}]}], keep_alive: -1s}\n",
		"gateway:\n  routes:\n    - model: a\n      to:\n        - model: sim/offline\n      from: [chat, messages]\n      cache: 10m\n      cache_tools: true\n",
		"providers: {gpu: {base_url: 'http://127.0.0.1:9/v1', wire: chat, headers: {A: b}}}\nmcp_servers: {}\ngateway:\n  routes: [{model: a, to: [{model: gpu/x}]}]\n",
	} {
		programtest.Place(t, "gateway.yaml", config)
		if got := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"); got.Code != 0 || got.ErrOut != "" {
			t.Errorf("%s: %d %s", config, got.Code, got.ErrOut)
		}
	}
}

// TestCheckOfManyRoutes: the work of a check is linear in the number of routes, and its output does not list them all.
func TestCheckOfManyRoutes(t *testing.T) {
	clitest.Bare(t, nil)
	work := func(routes int) time.Duration {
		var b strings.Builder
		b.WriteString("gateway:\n  routes:\n")
		for i := range routes {
			fmt.Fprintf(&b, "    - {model: r%d, to: [{model: sim/offline}]}\n", i)
		}
		programtest.Place(t, "gateway.yaml", b.String())
		return linear.ProcessCPU(func() {
			got := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml")
			if got.Code != 0 || !strings.HasSuffix(got.Out, fmt.Sprintf("r49 and %d more\n", routes-50)) || len(got.Out) > 500 {
				t.Errorf("%d %.200s %s", got.Code, got.Out, got.ErrOut)
			}
		})
	}
	if few, many := work(1000), work(8000); many > 20*few {
		t.Errorf("1,000 routes took %v and 8,000 took %v", few, many)
	}
}

// A configuration must be a file. A pipe could be read only once; the second time it would be empty, without keys and
// routes.
func TestConfigurationMustBeRegularFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skip("no pipes here:", string(out))
	}
	for _, args := range [][]string{{"serve", "--check", "--config", pipe}, {"serve", "--config", pipe}} {
		go func() {
			if w, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
				_, _ = w.WriteString("gateway: {keys: 'sqlite:keys.db', routes: [{model: a, to: [{model: sim/offline}]}]}\n")
				_ = w.Close()
			}
		}()
		if r := programtest.Run(t, "", args...); r.Code == 0 || !strings.Contains(r.ErrOut+r.Out, "is not a regular file") {
			t.Errorf("%v: %d %s %s", args, r.Code, r.Out, r.ErrOut)
		}
	}
}

// zeroIsNone are the settings whose default means none, like 0. zeroMeans are the settings with a special message
// about 0.
var (
	zeroIsNone = []string{"routes.max_requests", "routes.cache", "routes.retries", "routes.to.health", "routes.to.drift_every", "routes.to.drift_below", "routes.to.retries", "routes.to.priority", "routes.to.max_in_flight"}
	zeroMeans  = map[string]string{"routes.to.weight": "a weight of 0 takes sim/offline out of the selection", "routes.rounds": "0 is too small; the minimum is 1"}
)

// TestCheckExplainsZeros: a setting of 0 means none, or --check explains its meaning.
func TestCheckExplainsZeros(t *testing.T) {
	zeros := map[string]string{}
	for _, f := range configcheck.All(reflect.TypeFor[settings.GatewayConfig]()) {
		switch configcheck.KindOf(f.Type) {
		case "duration":
			zeros[f.Path] = f.Key + ": 0s"
		case "number":
			zeros[f.Path] = f.Key + ": 0"
		}
	}
	if len(zeros) < 18 {
		t.Fatalf("there are more numbers than %v", zeros)
	}
	for place, setting := range zeros {
		config, path := "gateway:\n  keys: sqlite:k.db\n  "+setting+"\n"+goodRoute, "gateway."+place
		switch {
		case strings.HasPrefix(place, "routes.to."):
			config = "gateway:\n  routes: [{model: a, to: [{model: sim/native}, {model: sim/offline, " + setting + "}]}]\n"
			path = strings.Replace(path, "routes.to.", "routes[0].to[1].", 1)
		case strings.HasPrefix(place, "routes."):
			config = "gateway:\n  routes: [{model: a, to: [{model: sim/offline}], tools: [write_file], approval: pending, " + setting + "}]\n"
			path = strings.Replace(path, "routes.", "routes[0].", 1)
		}
		clitest.Bare(t, map[string]string{"gateway.yaml": config})
		said := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml").ErrOut
		want := cmp.Or(zeroMeans[place], "warning: "+path+": 0 means the default, which is ")
		if none := slices.Contains(zeroIsNone, place); strings.Contains(said, want) == none || strings.Contains(said, "not a duration") {
			t.Errorf("%s: of %q --check says %q", place, setting, said)
		}
	}
	clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n  drain: 0s\n  keep_alive: 0s\n  max_body:\n" + goodRoute})
	r := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml")
	if r.Code != 0 || !strings.Contains(r.ErrOut, ":2: warning: gateway.drain: 0 means the default, which is 30s") || !strings.Contains(r.ErrOut, "keep_alive: 0 means the default, which is 15s") || strings.Contains(r.ErrOut, "max_body") {
		t.Errorf("%d %s", r.Code, r.ErrOut)
	}
}

// TestCheckFallbackWithoutKey: a fallback without a key does not count as a replacement.
func TestCheckFallbackWithoutKey(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("ANTHROPIC_API_KEY", "")
	const routes = "gateway:\n  routes:\n  - {model: a, to: [{model: openai/gpt-4o}], fallback: [%s]}\n" +
		"  - {model: b, to: [{model: anthropic/claude-sonnet-4-5}]}\n" +
		"  - {model: c, to: [{model: sim/offline}]}\n" +
		"  - {model: d-*, to: [{model: sim/*}]}\n" +
		"  - {model: d-x, to: [{model: openai/gpt-4o}]}\n" +
		"  - {model: e, from: [chat], to: [{model: openai/gpt-4o}]}\n" +
		"  - {model: e, from: [messages], to: [{model: sim/offline}]}\n" +
		"  - {model: f, to: [{model: sim/offline, weight: 0}, {model: openai/gpt-4o}]}\n"
	for fallback, who := range map[string]string{
		"b": "", "c": "c", "b, c": "c", "d-offline": "d-offline", "d-x": "", "d-x, b": "", "e": "e", "f": "",
	} {
		programtest.Place(t, "gateway.yaml", fmt.Sprintf(routes, fallback))
		said := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml").ErrOut
		line := ""
		for l := range strings.Lines(said) {
			if strings.Contains(l, "gateway.routes[0]") {
				line = l
			}
		}
		want := "clients of a get no answer"
		if who != "" {
			want = "it cannot be used, and " + who + " answers instead"
		}
		if !strings.Contains(line, want) {
			t.Errorf("with the fallback %s, %q is not said but %q", fallback, want, line)
		}
	}
}

// TestUnreplacedVariables: variables that would be sent or used as a file name without replacement are refused.
// Unset variables are reported.
func TestUnreplacedVariables(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv("THERE", "there")
	const route = "gateway:\n  routes: [{model: a, to: [{model: sim/offline}]%s}]\n"
	for _, c := range []struct {
		config, says string
		refused      bool
	}{
		{"providers: {up: {base_url: 'http://127.0.0.1:1/v1', headers: {X-Team: '${THERE}'}}}\n" + fmt.Sprintf(route, ""), "headers of up: ${THERE} would be sent as it stands there", true},
		{fmt.Sprintf(route, "") + "  keys: sqlite:${THERE}.db\n", "variables are not replaced here, and ${THERE} would be part of the file name", true},
		{fmt.Sprintf(route, "") + "  state: sqlite:${NO_SUCH}.db\n", "variables are not replaced here", true},
		{"providers: {up: {base_url: 'http://127.0.0.1:/v1', wire: chat}}\n" + "gateway:\n  routes: [{model: a, to: [{model: up/m}]}]\n", "the port after the colon of its host is missing", true},
		{"mcp_servers: {far: {url: 'http://127.0.0.1:1/mcp', headers: {Authorization: 'Bearer ${NO_SUCH}'}}}\n" + fmt.Sprintf(route, ", mcp: [far]"), "the tools of far are missing until the server can be started: the variable NO_SUCH is not set", false},
		{"mcp_servers: {far: {url: 'http://127.0.0.1:1/mcp', headers: {Authorization: 'Bearer ${THERE}'}}}\n" + fmt.Sprintf(route, ", mcp: [far]"), "", false},
		{"mcp_servers: {far: {url: 'http://127.0.0.1:/mcp'}}\n" + fmt.Sprintf(route, ", mcp: [far]"), "the port after the colon of its host is missing", true},
	} {
		programtest.Place(t, "gateway.yaml", c.config)
		r := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml")
		if (r.Code != 0) != c.refused || !strings.Contains(r.ErrOut, c.says) || c.says == "" && r.ErrOut != "" {
			t.Errorf("%s\nis %d: %s", c.config, r.Code, r.ErrOut)
		}
	}
}

// TestCheckPortsAndHeaders: invalid ports and headers are refused before the first request, by --check and by
// serve in the same words. Values of headers are not repeated.
func TestCheckPortsAndHeaders(t *testing.T) {
	const route = "gateway:\n  routes: [{model: a, to: [{model: ROUTE}]}]\n"
	to := func(id string) string { return strings.Replace(route, "ROUTE", id, 1) }
	own := func(rest string) string { return "providers:\n  one:\n    " + rest + "\n" + to("one/m") }
	mcp := func(rest string) string {
		return "mcp_servers:\n  one: {" + rest + "}\ngateway:\n  routes: [{model: a, to: [{model: sim/offline}], mcp: [one]}]\n"
	}
	for _, test := range []struct{ name, config, says string }{
		{"addr", "gateway:\n  addr: 127.0.0.1:65536\n" + goodRoute, `:2: gateway.addr: "65536" is not a port; it can be 0 to 65535`},
		{"ops_addr", "gateway:\n  ops_addr: 127.0.0.1:99999\n" + goodRoute, `:2: gateway.ops_addr: "99999" is not a port`},
		{"base_url", own("base_url: http://127.0.0.1:65536/v1"), `:5: gateway.routes[0].to[0].model: route 1 (a): the address: "65536" is not a port; it can be 1 to 65535`},
		{"base_url with port 0", own("base_url: http://127.0.0.1:0/v1"), `"0" is not a port`},
		{"the address of a model", to("'http://127.0.0.1:99999/v1#m'"), `"99999" is not a port`},
		{"a name with a space", own(`base_url: http://127.0.0.1:1/v1
    headers: {"X Team": s3cret-value}`), `:4: providers.one.headers: headers of one: "X Team" is not a name of a header`},
		{"a name with a colon", own(`base_url: http://127.0.0.1:1/v1
    headers: {"X-Team:": s3cret-value}`), `"X-Team:" is not a name of a header`},
		{"an umlaut", own(`base_url: http://127.0.0.1:1/v1
    headers: {"X-Größe": s3cret-value}`), `is not a name of a header`},
		{"no name", own(`base_url: http://127.0.0.1:1/v1
    headers: {"": s3cret-value}`), "a header has no name"},
		{"a value of two lines", own(`base_url: http://127.0.0.1:1/v1
    headers: {X-Team: "s3cret-value\r\nHost: x"}`), "the value of the header X-Team holds a line break"},
		{"the port of an MCP server", mcp("url: 'http://127.0.0.1:99999/mcp'"), `url: "99999" is not a port`},
		{"a header of an MCP server", mcp(`url: 'http://127.0.0.1:1/mcp', headers: {"X Team": s3cret-value}`), `headers: "X Team" is not a name of a header`},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.Bare(t, map[string]string{"gateway.yaml": test.config})
			checked := programtest.Run(t, "", "serve", "--config", "gateway.yaml", "--check")
			served := within(t, programtest.LongWait, "serve", "--config", "gateway.yaml")
			if checked.Code == 0 || checked.Code != served.Code || refusalOf(checked) != refusalOf(served) {
				t.Errorf("--check says %d %s\nand serve says %d %s", checked.Code, checked.ErrOut, served.Code, served.ErrOut)
			}
			if !strings.Contains(checked.ErrOut, test.says) || strings.Contains(checked.ErrOut, "s3cret") {
				t.Errorf("it does not say %q but\n%s", test.says, checked.ErrOut)
			}
		})
	}
	for _, config := range []string{own("base_url: http://127.0.0.1:65535/v1\n    headers: {X-Team_1.a: 'a b', x: ''}"), own("base_url: http://[::1]/v1")} {
		clitest.Bare(t, map[string]string{"gateway.yaml": config})
		if r := programtest.Run(t, "", "serve", "--config", "gateway.yaml", "--check"); r.Code != 0 {
			t.Errorf("%s\nis refused: %s", config, r.ErrOut)
		}
	}
}

// TestHiddenNamesAreSuggestedLast: 'serve --for' prefers a model that lists contain.
func TestHiddenNamesAreSuggestedLast(t *testing.T) {
	const secret, shown = "    - {model: backstage, hidden: true, to: [{model: sim/offline}]}\n", "    - {model: onstage, to: [{model: sim/offline}]}\n"
	for routes, want := range map[string]string{secret + shown: "onstage", secret: "backstage", secret + "    - {model: 'stage-*', to: [{model: sim/offline}]}\n": "stage-"} {
		clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n  routes:\n" + routes})
		programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"), 0, "the routes are in order: backstage")
		if r := programtest.Run(t, "", "serve", "--for", "codex", "--config", "gateway.yaml"); r.Code != 0 || !strings.Contains(r.Out, want) {
			t.Errorf("of\n%s\n%s is not named: %s%s", routes, want, r.Out, r.ErrOut)
		}
	}
}

// checked returns the output of serve --check for a configuration.
func checked(t *testing.T, config string, args ...string) (said string, err error) {
	t.Helper()
	t.Setenv("TOOLPOST_CONFIG", "")
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	programtest.WriteFile(t, file, config)
	var out bytes.Buffer
	cmd := program.New()
	cmd.SetArgs(append([]string{"serve", "--check", "--config", file}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err = cmd.ExecuteContext(t.Context())
	if err != nil {
		out.WriteString(err.Error())
	}
	return out.String(), err
}

// TestCheckMisplacedSettings: the error for a wrongly indented setting gives its correct place.
func TestCheckMisplacedSettings(t *testing.T) {
	entry := "  routes:\n    - model: a\n      to:\n        - model: sim/offline\n"
	for _, c := range []struct{ config, says string }{
		{"gateway:\nroutes:\n  - {model: a, to: [{model: sim/offline}]}\n", `:2: routes: unknown field "routes"; it belongs below gateway`},
		{"gateway:\n" + entry + "          check: off\n", `:6: gateway.routes[0].to[0].check: unknown field "check"; it belongs in an entry of gateway.routes`},
		{"gateway:\n" + entry + "          rounds: 2\n", "it belongs in an entry of gateway.routes"},
		{"gateway:\n" + entry + "  weight: 2\n", "it belongs in an entry of gateway.routes.to"},
		{"gateway:\n" + entry + "  model: b\n", "it belongs in an entry of gateway.routes"},
		{"gateway:\n" + entry + "      addr: 127.0.0.1:1\n", "it belongs below gateway"},
		{"gateway:\n" + entry + "  cert: x\n", "it belongs below gateway.tls"},
		{"gateway:\n" + entry + "  tls:\n    drain: 5s\n", "it belongs below gateway"},
		{"gateway:\n" + entry + "  providers: {mine: {base_url: \"http://127.0.0.1:1/v1\"}}\n", `unknown field "providers"; it belongs at the top level`},
		{"gateway:\n" + entry + "  base_url: http://127.0.0.1:1/v1\n", "it belongs below a name in providers"},
		{"base_url: http://127.0.0.1:1/v1\n", "it belongs below a name in providers"},
		{"gateway:\n" + entry + "  nonsense: 1\n", `unknown field "nonsense"` + "\n"},
		{"providers:\n  mine: {base_url: \"http://127.0.0.1:1/v1\"}\n  gateway:\n    routes: []\n", ":3: providers.gateway: gateway is indented below providers and is read as a name there"},
		{"mcp_servers:\n  providers: {mine: {base_url: \"http://127.0.0.1:1/v1\"}}\n", ":2: mcp_servers.providers: providers is indented below mcp_servers"},
		{"gateway:\n  routes:\n    - model: a\n     to: [{model: sim/offline}]\n", ":4: unexpected value: either the indentation of this line differs"},
	} {
		said, err := checked(t, c.config)
		if err == nil || !strings.Contains(said+"\n", c.says) {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
	if said, err := checked(t, "mcp_servers:\n  gateway: {command: sh}\nproviders:\n  limits: {base_url: \"http://127.0.0.1:1/v1\"}\n"); err != nil {
		t.Errorf("names of the user's own that are those of sections: %v\n%s", err, said)
	}
}

// TestCheckRounds: too few rounds to return a result are refused by all checks.
func TestCheckRounds(t *testing.T) {
	for value, wrong := range map[string]bool{"0": true, "-1": true, "1": false, "20": false} {
		said, err := checked(t, "gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}], tools: [read_file], rounds: "+value+"}\n")
		if (err != nil) != wrong || wrong && !strings.Contains(said, "gateway.routes[0].rounds: "+value+" is too small; the minimum is 1") {
			t.Errorf("rounds: %s: %v\n%s", value, err, said)
		}
	}
	if said, err := checked(t, "gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}], rounds: 0}\n"); err == nil || !strings.Contains(said, "it has no effect, because the route has neither tools nor mcp") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestCheckUnusedProviders: an unusable provider is reported even if no route uses it. Passwords in its address are not
// repeated.
func TestCheckUnusedProviders(t *testing.T) {
	for base, says := range map[string]string{
		"http://":                    "no host",
		"http://u:hunter2@host/v1":   "holds a user or password",
		"http://host/v1?key=hunter2": "query",
		"http://${NOT_SET/v1":        "cannot be read",
		"http://host/v1":             "",
		"${NOT_SET}":                 "",
		"https://${NOT_SET}.host/v1": "",
	} {
		rows := "providers:\n  mine: {base_url: \"" + base + "\"}\n"
		said, err := checked(t, rows+"gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}]}\n")
		warned := strings.Contains(said, ":2: warning: providers.mine.base_url: no route uses it, and none could: ")
		if err != nil || warned != (says != "") || !strings.Contains(said, says) || strings.Contains(said, "hunter2") {
			t.Errorf("%s: %v\n%s", base, err, said)
		}
		if said, err := checked(t, rows+"gateway:\n  routes:\n    - {model: a, to: [{model: mine/x}]}\n"); (err != nil) != (says != "") || strings.Contains(said, "no route uses it") {
			t.Errorf("%s, with a route: %v\n%s", base, err, said)
		}
	}
	if said, err := checked(t, "providers:\n  my/own: {base_url: \"http://host/v1\"}\n"); err != nil || !strings.Contains(said, "a model is written NAME/MODEL") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestCheckHints: errors about common mistakes include the correct setting. Something missing only on this machine is a
// warning.
func TestCheckHints(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "")
	}
	routes := func(text string) string { return "gateway:\n  routes:\n" + text }
	for _, c := range []struct {
		config, says, not string
		wrong             bool
	}{
		{routes("    - model: *\n      to: [{model: sim/offline}]\n"), `:3: an unquoted * starts an alias in YAML; write "*"`, "", true},
		{routes("    - {model: a, to: openai/gpt-4o}\n"), "write [{model: openai/gpt-4o}]", "", true},
		{"routes: []\n", "it belongs below gateway", "", true},
		{"providers:\n  mine: {base_url: \"http://127.0.0.1:1/v1\", api_key: sk-x}\n", "key_env names the environment variable", "sk-x", true},
		{routes("    - {model: a, to: [{model: nobody/x}]}\n"), "nobody", "provider.Open", true},
		{routes("    - {model: a, to: [{model: bedrock/anthropic.claude-x}]}\n"), "warning: gateway.routes[0]", "provider.Open", false},
		{routes("    - {model: a, to: [{model: anthropic/claude-sonnet-4-5}, {model: sim/offline}]}\n"), "the other upstreams of a answer", "get no answer", false},
		{routes("    - {model: a, to: [{model: anthropic/claude-sonnet-4-5}]}\n"), "warning: gateway.routes[0].to[0].model: clients of a get no answer", "", false},
	} {
		said, err := checked(t, c.config)
		if !strings.Contains(said, c.says) || c.not != "" && strings.Contains(said, c.not) || (err != nil) != c.wrong {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
	t.Setenv(serve.AdminKeyEnv, "")
	said, err := checked(t, "gateway:\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:0\n  routes: [{model: a, to: [{model: sim/offline}]}]\n", "--json")
	var told struct {
		OK       bool
		Mistakes []struct{ Warning bool }
	}
	if json.Unmarshal([]byte(said), &told) != nil || err != nil || !told.OK || len(told.Mistakes) != 1 || !told.Mistakes[0].Warning {
		t.Errorf("%v: %s", err, said)
	}
}

// TestServeRefusesImpossibleSettings: settings without effect, or that would refuse every request, are reported.
func TestServeRefusesImpossibleSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	for _, row := range []struct {
		config string
		args   []string
		says   string
	}{
		{"gateway:\n  max_body: 1\n" + goodRoute, []string{"--check"}, ":2: gateway.max_body: 1 is too small; the minimum is 1024"},
		{"gateway:\n  max_header: 1\n" + goodRoute, []string{"--check"}, ":2: gateway.max_header: 1 is too small; the minimum is 512"},
		{"gateway:\n" + goodRoute, []string{"--for", "codex", "--addr", "foo"}, "--addr: "},
		{"gateway:\n" + goodRoute, []string{"--for", "codex", "--check"}, "leave out --check"},
	} {
		programtest.WriteFile(t, file, row.config)
		if got := programtest.Run(t, "", append([]string{"serve", "--config", file}, row.args...)...); got.Code == 0 || !strings.Contains(got.ErrOut, row.says) {
			t.Errorf("%v: %d %s%s, want %s", row.args, got.Code, got.Out, got.ErrOut, row.says)
		}
	}
	programtest.WriteFile(t, file, "\ufeffgateway:\n"+goodRoute)
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", file), 0, "the routes are in order")
	programtest.WriteFile(t, file, "\ufeffmodel_list:\n"+liteEntry("a", "model: openai/gpt-4o"))
	if got := programtest.Run(t, "", "serve", "import", file); got.Code != 0 || !strings.Contains(got.ErrOut, "1 of 1 model") {
		t.Errorf("a file with a mark is not imported: %s%s", got.Out, got.ErrOut)
	}
}

// TestAddressInUse: the error of a second gateway explains how both can run.
func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := listen.On(l.Addr().String()); err == nil || !strings.Contains(err.Error(), "another address with --addr") {
		t.Errorf("%v", err)
	}
}

// TestUsageLogFitsTerminal: time and id identify requests and are complete on any terminal.
func TestUsageLogFitsTerminal(t *testing.T) {
	for _, width := range []int{80, 120} {
		rows := [][]string{
			{"AT", "REQUEST", "TEAM", "KEY", "ROUTE", "MODEL", "UPSTREAM", "STATUS", "INPUT", "OUTPUT", "USD", "TOOK"},
			{"2026-11-18 01:02:03", "req_AZVA5TA74XCZXVS2RXW4QTJSFT", "research", "tp-px57t57ip4", "claude-*", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "ok (cached)", "12345", "678", "0.001234", "1.234s"},
		}
		got, _ := keys.Fitted(rows, width, keys.LogWhole, keys.LogLeast)
		if got[1][0] != rows[1][0] || got[1][1] != rows[1][1] || keys.TableWidth(got) > width {
			t.Errorf("%d columns: %q", width, got)
		}
	}
}

// TestCheckOfNames: names with a variable, which is not replaced, or with invisible characters are refused. The
// characters do not reach a terminal.
func TestCheckOfNames(t *testing.T) {
	clitest.Bare(t, nil)
	const to = "to: [{model: sim/offline}]"
	for _, c := range []struct{ config, says string }{
		{"gateway:\n  routes:\n    - {model: '${NAME}', " + to + "}\n", ":3: gateway.routes[0].model: route 1 (${NAME}): variables are not replaced here, and ${NAME} would be part of the name"},
		{"gateway:\n  routes:\n    - {model: a, to: [{model: 'openai/${NAME}'}]}\n", ":3: gateway.routes[0].to[0].model: route 1 (a): variables are not replaced here"},
		{"gateway:\n  routes:\n    - {model: a, " + to + ", fallback: ['${NAME}']}\n", "gateway.routes[0].fallback[0]: route 1 (a): variables are not replaced here"},
		{"gateway:\n  keys: sqlite:k.db\n  routes:\n    - {model: a, " + to + ", pass: [files], pass_team: '${TEAM}'}\n", "gateway.routes[0].pass_team: route 1 (a): variables are not replaced here"},
		{"gateway:\n  routes:\n    - {model: \"a\\eb\", " + to + "}\n", `route 1 ("a\x1bb"): "a\x1bb" has invisible characters`},
		{"gateway:\n  routes:\n    - {model: a, to: [{model: \"sim/off\\0line\"}]}\n", `"sim/off\x00line" has invisible characters`},
		{"providers: {'${GPU}': {base_url: 'http://g.example.org/v1'}}\ngateway:\n  routes:\n    - {model: a, " + to + "}\n", ":1: providers: variables are not replaced here, and ${GPU}"},
	} {
		said, err := checked(t, c.config)
		if err == nil || !strings.Contains(said, c.says) || strings.ContainsAny(said, "\x1b\x00") {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
}

// TestCheckOfLimits: a limit below 0 means no limit, and is reported.
func TestCheckOfLimits(t *testing.T) {
	clitest.Bare(t, nil)
	const routes = "gateway: {routes: [{model: a, to: [{model: sim/offline}]}]}\n"
	said, err := checked(t, "limits:\n  idle: -5m\n  text: -1\n"+routes)
	if err != nil || !strings.Contains(said, ":2: warning: limits.idle: a value below 0 means no limit") || !strings.Contains(said, ":3: warning: limits.text: a value below 0 means no limit") {
		t.Errorf("%v\n%s", err, said)
	}
	if said, err := checked(t, "limits: {idle: 5m, time: 1h}\n"+routes); err != nil || strings.Contains(said, "limits") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestCheckMissingVariableWarns: a missing variable is a warning in a check. The warning mentions that serve
// refuses to start without it.
func TestCheckMissingVariableWarns(t *testing.T) {
	clitest.Bare(t, nil)
	for _, name := range []string{"AZURE_OPENAI_ENDPOINT", "AWS_REGION", "TOOLPOST_ADMIN_KEY"} {
		t.Setenv(name, "")
	}
	for model, variable := range map[string]string{"azure/gpt-4o": "AZURE_OPENAI_ENDPOINT", "bedrock/amazon.nova-lite-v1:0": "AWS_REGION"} {
		config := "gateway:\n  routes:\n    - {model: a, to: [{model: '" + model + "'}]}\n"
		said, err := checked(t, config)
		if want := "its address needs " + variable + " to be set; serve does not start without it"; err != nil || !strings.Contains(said, want) {
			t.Errorf("%s: %v\n%s", model, err, said)
		}
		file := filepath.Join(t.TempDir(), "c.yaml")
		programtest.WriteFile(t, file, config)
		if got := programtest.Run(t, "", "serve", "--addr", "127.0.0.1:0", "--config", file); got.Code != 1 || !strings.Contains(got.ErrOut, variable) || strings.Contains(got.ErrOut, "does not start") {
			t.Errorf("%s: exit %d: %s", model, got.Code, got.ErrOut)
		}
	}
	if said, err := checked(t, "gateway:\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:8232\n  routes:\n    - {model: a, to: [{model: sim/offline}]}\n"); err != nil || !strings.Contains(said, "TOOLPOST_ADMIN_KEY; serve does not start without it") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestImportOfTabs: a tab in a LiteLLM file is reported with its line, as in ours.
func TestImportOfTabs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for text, line := range map[string]string{
		"model_list:\n\t- model_name: a\n": "line 2", "model_list:\n  - model_name: a\n    litellm_params:\n    \tmodel: openai/m\n": "line 4",
		"model_list:\n  -\tmodel_name: a\n    litellm_params: {model: openai/m}\n": "line 2",
	} {
		programtest.WriteFile(t, file, text)
		programtest.Must(t, programtest.Run(t, "", "serve", "import", file), 1, line+": it is not YAML: this line has a tab; YAML is indented with spaces only")
	}
}

// TestServeNumberErrors: the error for an invalid number gives its place, the problem and a valid value.
func TestServeNumberErrors(t *testing.T) {
	clitest.Bare(t, nil)
	route := "  routes:\n    - {model: m, to: [{model: sim/offline}]}\n"
	weight := func(w string) string {
		return "gateway:\n  routes:\n    - {model: m, to: [{model: sim/offline, weight: " + w + "}]}\n"
	}
	for text, says := range map[string]string{
		weight("99999999999999999999999"):                       `g.yaml:3: gateway.routes[0].to[0].weight: "99999999999999999999999" is too large; write a smaller number, in digits`,
		weight("1e30"):                                          `"1e30" is too large`,
		weight("1e3"):                                           `"1e3" is not a whole number in digits; write 1000`,
		weight("[1]"):                                           "expected a whole number, but found a list",
		"gateway:\n  drain: 1e3\n" + route:                      `g.yaml:2: gateway.drain: "1e3" is not a duration like 90s or 10m: it has no unit; write 1000s for seconds`,
		"gateway:\n  drain: 10\n" + route:                       `"10" is not a duration like 90s or 10m: it has no unit; write 10s for seconds`,
		"gateway:\n  drain: [1s]\n" + route:                     "expected a duration like 90s or 10m, but found a list",
		"mcp_servers:\n  t: {}\ngateway:\n" + route:             "server t: a stdio server needs a command, another one a url: write {command: PROGRAM} or {url: https://HOST/mcp}",
		"providers:\n  b: {like: bedrok}\ngateway:\n" + route:   `g.yaml:2: providers.b.like: b is like no vendor that is called "bedrok"; did you mean bedrock?`,
		"providers:\n  b: {like: qqqqqqqq}\ngateway:\n" + route: `is called "qqqqqqqq"; there are `,
	} {
		programtest.Place(t, "g.yaml", text)
		programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", "g.yaml"), 1, says)
	}
}

// TestCheckNamesNearVendors: the error for a misspelt vendor in a route suggests a close one, as on the command line.
func TestCheckNamesNearVendors(t *testing.T) {
	said, err := checked(t, "gateway:\n  routes:\n    - {model: a, to: [{model: opnai/gpt-4o}]}\n")
	if err == nil || !strings.Contains(said, `:3: gateway.routes[0].to[0].model: `) || !strings.Contains(said, `nobody is known to serve "opnai/gpt-4o"; did you mean openai/gpt-4o?`) {
		t.Errorf("%v\n%s", err, said)
	}
	for _, args := range [][]string{{"run", "--model", "opnai/gpt-4o", "hi"}, {"models", "probe", "opnai/gpt-4o"}} {
		if got := programtest.Run(t, "", args...); got.Code == 0 || !strings.Contains(got.ErrOut, "did you mean openai/gpt-4o?") {
			t.Errorf("%v: %d %s", args, got.Code, got.ErrOut)
		}
	}
}
