package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
)

// within runs the command and interrupts it after a time limit.
func within(t *testing.T, limit time.Duration, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var out, errOut bytes.Buffer
	code := runCommand(ctx, args, strings.NewReader(""), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// refusalOf returns the error at the end of a command's output.
func refusalOf(r result) string { return r.errOut[max(strings.Index(r.errOut, "toolpost: "), 0):] }

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
			checked := toolpost(t, "", append(args, "--check")...)
			served := within(t, 10*time.Second, args...)
			if checked.code != served.code || checked.code == 0 || refusalOf(checked) != refusalOf(served) {
				t.Errorf("--check says %d %s\nand serve says %d %s", checked.code, checked.errOut, served.code, served.errOut)
			}
			for _, line := range test.says {
				if line = strings.ReplaceAll(line, "F:", "gateway.yaml:"); !strings.Contains(checked.errOut, strings.ReplaceAll(line, "F is", "gateway.yaml is")) {
					t.Errorf("it does not say %q but\n%s", line, checked.errOut)
				}
			}
			for _, word := range []string{"reflect", "struct", "unmarshal", "int64", "time:", "panic", "mapping"} {
				if strings.Contains(checked.errOut, word) {
					t.Errorf("%q in %s", word, checked.errOut)
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
		place(t, "gateway.yaml", config)
		got := toolpost(t, "", "serve", "--check", "--config", "gateway.yaml")
		if got.code != 0 || !strings.Contains(got.errOut, says) || strings.Contains(got.errOut, "hunter2") {
			t.Errorf("%s: %d %s", config, got.code, got.errOut)
		}
	}
	place(t, "gateway.yaml", "gateway:\n")
	must(t, toolpost(t, "", "serve", "--check", "--config", "gateway.yaml"), 0, "there are no routes: the offline model answers for every name")
	place(t, "gateway.yaml", "gateway:\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:0\n"+goodRoute)
	if got := within(t, 10*time.Second, "serve", "--addr", "127.0.0.1:0", "--config", "gateway.yaml"); got.code != 1 || !strings.Contains(got.errOut, "it needs a key for administrators") {
		t.Errorf("%d %s", got.code, got.errOut)
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
		place(t, "gateway.yaml", config)
		if got := toolpost(t, "", "serve", "--check", "--config", "gateway.yaml"); got.code != 0 || got.errOut != "" {
			t.Errorf("%s: %d %s", config, got.code, got.errOut)
		}
	}
}

// TestCheckOfManyRoutes: the work of a check is linear in the number of routes, and its output does not list them all.
func TestCheckOfManyRoutes(t *testing.T) {
	clitest.Bare(t, nil)
	var b strings.Builder
	b.WriteString("gateway:\n  routes:\n")
	for i := range 15_000 {
		fmt.Fprintf(&b, "    - {model: r%d, to: [{model: sim/offline}]}\n", i)
	}
	place(t, "gateway.yaml", b.String())
	begun := time.Now()
	got := toolpost(t, "", "serve", "--check", "--config", "gateway.yaml")
	if got.code != 0 || !strings.HasSuffix(got.out, "r49 and 14950 more\n") || len(got.out) > 500 {
		t.Errorf("%d %.200s %s", got.code, got.out, got.errOut)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %v", took)
	} else {
		t.Log(took)
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
		if r := toolpost(t, "", args...); r.code == 0 || !strings.Contains(r.errOut+r.out, "is not a regular file") {
			t.Errorf("%v: %d %s %s", args, r.code, r.out, r.errOut)
		}
	}
}
