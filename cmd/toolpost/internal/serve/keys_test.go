package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/pgtest"
)

// TestEmptyFlagsAreRefused: a flag with an unset variable as value is an error. It does not mean the same as no flag.
func TestEmptyFlagsAreRefused(t *testing.T) {
	clitest.Bare(t, nil)
	makeKey(t, "--team", "a", "--name", "laptop")
	programtest.Place(t, "gateway.yaml", "gateway:\n  keys: sqlite:keys.db\n  routes: [{model: a, to: [{model: sim/offline}]}]\n")
	for _, c := range []struct {
		flag string
		args []string
	}{
		{"keys", []string{"serve", "--keys", "", "--config", "gateway.yaml"}},
		{"keys", []string{"serve", "--check", "--keys", "", "--config", "gateway.yaml"}},
		{"keys", []string{"serve", "--check", "--json", "--keys=", "--config", "gateway.yaml"}},
		{"addr", []string{"serve", "--addr", "", "--config", "gateway.yaml"}},
		{"addr", []string{"serve", "--check", "--addr", "", "--config", "gateway.yaml"}},
		{"config", []string{"serve", "--config", ""}},
		{"for", []string{"serve", "--for", "", "--config", "gateway.yaml"}},
		{"keys", []string{"keys", "list", "--keys", "", "--config", "gateway.yaml"}},
		{"config", []string{"keys", "list", "--config", ""}},
		{"team", []string{"keys", "create", "--team", "", "--config", "gateway.yaml"}},
		{"models", []string{"keys", "create", "--team", "a", "--models", "", "--config", "gateway.yaml"}},
		{"expires", []string{"keys", "create", "--team", "a", "--expires", "", "--config", "gateway.yaml"}},
		{"grace", []string{"keys", "rotate", "tp-k3f9x2qabc", "--grace", "", "--config", "gateway.yaml"}},
		{"keys", []string{"usage", "--keys", "", "--config", "gateway.yaml"}},
		{"by", []string{"usage", "--by", "", "--config", "gateway.yaml"}},
		{"team", []string{"usage", "--team", "", "--config", "gateway.yaml"}},
		{"request", []string{"usage", "--request", "", "--config", "gateway.yaml"}},
	} {
		programtest.Must(t, programtest.Run(t, "", c.args...), 2, "--"+c.flag+" is empty: ")
	}
	if _, err := os.Stat("keys.db"); err != nil {
		t.Error(err)
	}
}

// TestInvalidKeyIsUsageError: an invalid key is a usage error, described in the words of the command.
func TestInvalidKeyIsUsageError(t *testing.T) {
	clitest.Bare(t, nil)
	id := makeKey(t, "--team", "a")[:13]
	for says, args := range map[string][]string{
		"the team is missing":                       {"create"},
		"there are two limits of requests/day":      {"create", "--team", "a", "--limit", "requests/day=1", "--limit", "requests/day=2"},
		"the key would have expired already":        {"create", "--team", "a", "--expires", "2020-01-31"},
		`models: " x" is not a name`:                {"create", "--team", "a", "--models", " x"},
		"it would have expired already":             {"set", id, "--expires", "2020-01-31"},
		"there are two limits of tokens/minute":     {"set", id, "--limit", "tokens/minute=1", "--limit", "tokens/minute=2"},
		"there are two limits of money/month":       {"team", "a", "--limit", "money/month=1", "--limit", "money/month=2"},
		`the team " a" has more than 100 bytes, or`: {"team", " a", "--limit", "money/month=1"},
	} {
		r := programtest.Run(t, "", append([]string{"keys", "--keys", keysFile}, args...)...)
		programtest.Must(t, r, 2, says)
		if strings.Contains(r.ErrOut, "access:") {
			t.Error(r.ErrOut)
		}
	}
	r := programtest.Run(t, "", "keys", "revoke", "tp-k3f9x2qabc", "--keys", keysFile)
	programtest.Must(t, r, 1, "is not there")
	if strings.Contains(r.ErrOut, "access:") {
		t.Error(r.ErrOut)
	}
}

// TestKeysWarnOfUnknownNames: keys create and keys set warn alike about unknown models, routes and tools of a
// key.
func TestKeysWarnOfUnknownNames(t *testing.T) {
	clitest.Bare(t, nil)
	programtest.Place(t, "gateway.yaml", `mcp_servers:
  tickets: {command: tickets}
gateway:
  keys: sqlite:keys.db
  routes:
    - {model: fast, to: [{model: sim/offline}], tools: [read_file], mcp: [tickets]}
`)
	key := makeKey(t, "--team", "research")[:13]
	for args, says := range map[string]string{
		"--models fats":                 "toolpost: warning: --models: no route of the configuration is for fats; did you mean fast?\n",
		"--routes fats":                 "toolpost: warning: --routes: no route of the configuration is for fats; did you mean fast?\n",
		"--tools nosuch":                "toolpost: warning: --tools: no route of the configuration has a tool nosuch, and none of a vendor is known by that name\n",
		"--tools read_fil,web_search":   "toolpost: warning: --tools: no route of the configuration has a tool read_fil, and none of a vendor is known by that name; did you mean read_file?\n",
		"--tools web_serch":             "did you mean web_search?",
		"--tools ticket__list":          "has a tool ticket__list",
		"--tools write_file":            "has a tool write_file",
		"--tools read_file":             "",
		"--tools read_*,mcp":            "",
		"--tools tickets__list":         "",
		"--tools tickets__*":            "",
		"--tools *":                     "",
		"--tools none":                  "",
		"--tools plugin:pdf,googleMaps": "",
	} {
		for _, command := range []string{"create --team research", "set " + key} {
			r := programtest.Run(t, "", strings.Fields("keys "+command+" --config gateway.yaml "+args)...)
			if r.Code != 0 || !strings.Contains(r.ErrOut, says) || says == "" && strings.Contains(r.ErrOut, "warning") {
				t.Errorf("%s %s: %d %s", command, args, r.Code, r.ErrOut)
			}
		}
	}
}

// TestKeysSelectedByName: keys can be selected by name. The error for an unknown name suggests a close one.
func TestKeysSelectedByName(t *testing.T) {
	clitest.Bare(t, nil)
	first := makeKey(t, "--team", "research", "--name", "laptop")[:13]
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", "labtop", "--keys", keysFile), 1, `key "labtop": it is not there: no key has this id or name; did you mean laptop?`)
	programtest.Must(t, programtest.Run(t, "", "keys", "set", "laptop", "--limit", "requests/day=5", "--keys", keysFile), 0, first)
	programtest.Must(t, programtest.Run(t, "", "keys", "rotate", "laptop", "--keys", keysFile), 0, first)
	second := makeKey(t, "--team", "research", "--name", "laptop")[:13]
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", "laptop", "--keys", keysFile), 1, "several keys have the name", first, second)
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", first, "--keys", keysFile), 0)
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", "laptop", "--keys", keysFile), 0, second)
}

// TestKeysWarnOfUnusedLimits: limits of a team without keys, and bounds without a route, are stored with a
// warning.
func TestKeysWarnOfUnusedLimits(t *testing.T) {
	clitest.Bare(t, nil)
	programtest.Place(t, "gateway.yaml", "gateway:\n  keys: sqlite:keys.db\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n    - {model: claude-*, to: [{model: anthropic/claude-*}]}\n")
	makeKey(t, "--team", "research")
	programtest.Must(t, programtest.Run(t, "", "keys", "team", "reserch", "--limit", "tokens/day=5", "--keys", keysFile), 0, "no key belongs to the team reserch; did you mean research?")
	if r := programtest.Run(t, "", "keys", "team", "research", "--limit", "tokens/day=5", "--keys", keysFile); r.Code != 0 || r.ErrOut != "" {
		t.Errorf("%d %s", r.Code, r.ErrOut)
	}
	for args, says := range map[string]string{
		"--models fats":            "--models: no route of the configuration is for fats; did you mean fast?",
		"--models gpt-*,fast":      "--models: no route of the configuration is for gpt-*",
		"--routes claude-sonnet":   "--routes: no route of the configuration is for claude-sonnet",
		"--models claude-sonnet":   "",
		"--models c*":              "",
		"--models *fast,claude-*":  "",
		"--routes claude-*,f*":     "",
		"--models claude-*-sonnet": "",
	} {
		r := programtest.Run(t, "", append([]string{"keys", "create", "--team", "research", "--config", "gateway.yaml"}, strings.Fields(args)...)...)
		if r.Code != 0 || says != "" && !strings.Contains(r.ErrOut, says) || says == "" && strings.Contains(r.ErrOut, "no route") {
			t.Errorf("%s: %d %s", args, r.Code, r.ErrOut)
		}
	}
}

// TestUsageSince: sums are kept by day, and shorter periods are refused. Requests are listed individually.
func TestUsageSince(t *testing.T) {
	clitest.Bare(t, nil)
	makeKey(t, "--team", "a")
	for args, says := range map[string]string{
		"--since 1m":                   "--since 1m: sums are kept by day",
		"--since 23h":                  "give a day like",
		"--since 2026-11-17T15:00:00Z": "less than one cannot be told",
		"--by request,team":            "--by: request stands alone",
		"--by team,request":            "--by: request stands alone",
	} {
		programtest.Must(t, programtest.Run(t, "", append([]string{"usage", "--keys", keysFile}, strings.Fields(args)...)...), 2, says)
	}
	for _, since := range []string{"24h", "1d", "30d", "2026-11-01", "2026-11-01T00:00:00Z"} {
		programtest.Must(t, programtest.Run(t, "", "usage", "--since", since, "--keys", keysFile), 0, "nothing was used")
	}
}

// TestTablesFitTerminal: a table is at most as wide as the terminal and keeps the columns that identify its rows. It is
// complete if there is room or no terminal.
func TestTablesFitTerminal(t *testing.T) {
	table := func() [][]string {
		return [][]string{{"KEY", "TEAM", "NAME", "TOOLS", "LIMITS"},
			{"tp-k3f9x2qabc", "research", "a laptop with a long name", "all", "money/month=50.00 requests/minute=60"},
			{"tp-aaaaaaaaaa", "ops", "-", "all", "none"}}
	}
	for width, lacks := range map[int]string{0: "", 200: "", 80: "TOOLS", 60: "TOOLS", 40: "TOOLS NAME", 14: "TOOLS NAME LIMITS"} {
		got, left := keys.Fitted(table(), width, []string{"KEY"}, []string{"TOOLS", "NAME", "LIMITS"})
		if strings.Join(left, " ") != lacks || got[1][0] != "tp-k3f9x2qabc" {
			t.Errorf("%d: %v %v", width, left, got)
		}
		if width > 20 && keys.TableWidth(got) > width {
			t.Errorf("%d: %d", width, keys.TableWidth(got))
		}
		for _, row := range got {
			for _, cell := range row {
				if !utf8.ValidString(cell) || cell == "" {
					t.Errorf("%d: %q", width, cell)
				}
			}
		}
	}
}

// keysFile is the store of keys in the tests.
const keysFile = "sqlite:keys.db"

// makeKey creates a key with the command.
func makeKey(t *testing.T, args ...string) string {
	t.Helper()
	r := programtest.Run(t, "", append([]string{"keys", "create", "--keys", keysFile}, args...)...)
	programtest.Must(t, r, 0, "shown only this once")
	return strings.TrimSpace(r.Out)
}

// askWith sends a request with a key, or none for "", and returns the status and the response.
func askWith(t *testing.T, url, key string) (int, string) {
	t.Helper()
	status, body, err := tryWith(t, url, key)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

func tryWith(t *testing.T, url, key string) (int, string, error) {
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"any","messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		return 0, "", err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// TestKeys creates, uses and revokes a key by commands, while a gateway runs.
func TestKeys(t *testing.T) {
	clitest.Bare(t, nil)
	programtest.Must(t, programtest.Run(t, "", "keys", "list", "--keys", keysFile), 1, "there are no keys")
	key := makeKey(t, "--team", "research", "--name", "laptop", "--limit", "requests/day=100")
	id := key[:13]
	programtest.Must(t, programtest.Run(t, "", "keys", "list", "--keys", keysFile), 0, id, "research", "laptop", "active", "requests/day=100")
	bounded := makeKey(t, "--team", "bounded", "--models", "fast", "--tools", "web_search", "--routes", "main", "--expires", "2099-01-31")
	programtest.Must(t, programtest.Run(t, "", "keys", "list", "--keys", keysFile), 0, "TOOLS", "ROUTES", "fast", "web_search", "main", "2099-01-31T00:00:00Z")
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", bounded[:13], "--keys", keysFile), 0)
	if keys.TokenSum(5, true)+keys.TokenSum(5, false)+keys.AmountSum(0, true) != "5~5$0.00*" {
		t.Error("what is estimated or has no price is not marked")
	}
	if r := programtest.Run(t, "", "keys", "list", "--json", "--keys", keysFile); strings.Contains(r.Out, key) || strings.Contains(r.Out, "hash") {
		t.Errorf("the list shows too much: %s", r.Out)
	}
	url := programtest.StartServe(t, "--addr", "127.0.0.1:0", "--keys", keysFile)
	for shown, want := range map[string]int{key: 200, "": 401, "tp-nobody": 401} {
		if status, body := askWith(t, url, shown); status != want {
			t.Errorf("%q: %d %s", shown, status, body)
		}
	}
	r := programtest.Run(t, "", "keys", "rotate", id, "--keys", keysFile)
	programtest.Must(t, r, 0, id)
	second := strings.TrimSpace(r.Out)
	for shown, want := range map[string]int{key: 401, second: 200} {
		if status, body := askWith(t, url, shown); status != want {
			t.Errorf("after rotating: %d %s", status, body)
		}
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "team", "research", "--limit", "requests/total=2", "--keys", keysFile), 0, "requests/total=2")
	if status, body := askWith(t, url, second); status != 429 {
		t.Errorf("over the limit of the team: %d %s", status, body)
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", id, "--keys", keysFile), 0, "is revoked")
	if status, body := askWith(t, url, second); status != 401 || !strings.Contains(body, "revoked") {
		t.Errorf("revoked: %d %s", status, body)
	}
	programtest.Must(t, programtest.Run(t, "", "usage", "--by", "team,model", "--keys", keysFile), 0, "TEAM", "research", "any", "2")
	programtest.Must(t, programtest.Run(t, "", "usage", "--by", "key", "--csv", "--since", "1d", "--keys", keysFile), 0, "key,requests,failed,cached,refused,input,output,usd,unpriced,estimated", id+",2,0,")
	programtest.Must(t, programtest.Run(t, "", "usage", "--by", "key", "--keys", keysFile), 0, "REQUESTS", "CACHED", "REFUSED")
	programtest.Must(t, programtest.Run(t, "", "usage", "--by", "route,upstream", "--keys", keysFile), 0, "ROUTE", "UPSTREAM", "sim/offline")
	programtest.Must(t, programtest.Run(t, "", "usage", "--by", "request", "--keys", keysFile), 0, "req_", "ROUTE", "sim/offline")
	programtest.Must(t, programtest.Run(t, "", "usage", "--by", "request", "--csv", "--keys", keysFile), 0, "at,id,team,key,route,model,upstream,format,status,cached,input,output,usd,unpriced,estimated,seconds,user,tag,attempts", "req_")
	var sums []struct {
		Day      string
		Requests int
		USD      float64
	}
	if r := programtest.Run(t, "", "usage", "--by", "day", "--json", "--keys", keysFile); json.Unmarshal([]byte(r.Out), &sums) != nil || len(sums) != 1 || sums[0].Requests != 2 {
		t.Errorf("%s", r.Out)
	}
	programtest.Must(t, programtest.Run(t, "", "usage", "--since", "2999-01-01", "--keys", keysFile), 0, "nothing was used")
	usageOfSome(t, id)
}

// usageOfSome checks the filters of usage, and that an unknown team or key is an error.
func usageOfSome(t *testing.T, id string) {
	t.Helper()
	for _, test := range []struct {
		code int
		args []string
		says string
	}{
		{0, []string{"--team", "research", "--key", "laptop", "--model", "any", "--since", "1d", "--by", "key", "--csv"}, "\n" + id + ",2,0,"},
		{0, []string{"--key", id, "--upstream", "sim/offline", "--by", "day", "--json"}, `"requests": 2`},
		{0, []string{"--key", id, "--by", "request"}, "sim/offline"},
		{0, []string{"--team", "bounded"}, "nothing was used of team bounded"},
		{0, []string{"--team", "research", "--model", "other"}, "nothing was used of team research, model other"},
		{0, []string{"--team", "bounded", "--json"}, "[]"},
		{0, []string{"--by", "request", "--route", "other"}, "the log has no request of route other"},
		{1, []string{"--team", "reserch"}, `team "reserch": it is not there; did you mean "research"?`},
		{1, []string{"--key", "labtop", "--csv"}, `key "labtop": it is not there; did you mean "laptop"?`},
		{1, []string{"--team", "bounded", "--key", id, "--by", "request"}, "it is not there"},
		{2, []string{"--team", ""}, "--team is empty"},
		{2, []string{"--request", "req_1", "--team", "research"}, "--request shows one request"},
	} {
		programtest.Must(t, programtest.Run(t, "", append([]string{"usage", "--keys", keysFile}, test.args...)...), test.code, test.says)
	}
}

// TestKeysSet checks that the bounds of a key can be changed, and that lists show which earlier secrets are
// valid.
func TestKeysSet(t *testing.T) {
	clitest.Bare(t, nil)
	id := makeKey(t, "--team", "a", "--models", "gpt-*")[:len("tp-k3f9x2qabc")]
	programtest.Must(t, programtest.Run(t, "", "keys", "set", id, "--models", "claude-*", "--limit", "money/month=5", "--keys", keysFile), 0, "")
	if r := programtest.Run(t, "", "keys", "list", "--json", "--keys", keysFile); !strings.Contains(r.Out, "claude-*") || strings.Contains(r.Out, "gpt-*") || !strings.Contains(r.Out, "money/month") {
		t.Errorf("%s%s", r.Out, r.ErrOut)
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "rotate", id, "--grace", "2d", "--keys", keysFile), 0, "")
	if r := programtest.Run(t, "", "keys", "list", "--json", "--keys", keysFile); !strings.Contains(r.Out, "earlier_until") {
		t.Errorf("%s", r.Out)
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "team", "a", "--limit", "tokens/day=9", "--keys", keysFile), 0, "tokens/day=9")
	programtest.Must(t, programtest.Run(t, "", "keys", "team", "a", "--json", "--keys", keysFile), 0, "tokens/day")
}

// TestKeysErase checks that a team is erased only with --yes, with its keys and its state, and that others stay.
func TestKeysErase(t *testing.T) {
	clitest.Bare(t, nil)
	makeKey(t, "--team", "team-red")
	makeKey(t, "--team", "team-blue")
	programtest.Must(t, programtest.Run(t, "", "keys", "erase", "team-red", "--keys", keysFile), 2, "all data of the team team-red for ever; give --yes")
	programtest.Must(t, programtest.Run(t, "", "keys", "erase", "team-red", "--user", "ada", "--yes", "--keys", keysFile), 0, "erased: the requests of the end user ada of the team team-red")
	programtest.Must(t, programtest.Run(t, "", "keys", "list", "--keys", keysFile), 0, "team-red")
	programtest.Must(t, programtest.Run(t, "", "keys", "erase", "team-red", "--yes", "--keys", keysFile), 0, "erased: all data of the team team-red")
	if r := programtest.Run(t, "", "keys", "list", "--keys", keysFile); strings.Contains(r.Out, "team-red") || !strings.Contains(r.Out, "team-blue") {
		t.Error(r.Out)
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "erase", "team-red", "--yes", "--keys", keysFile), 1, "team-red")
	t.Setenv("TOOLPOST_GATEWAY_STATE", "memory")
	programtest.Must(t, programtest.Run(t, "", "keys", "erase", "team-blue", "--yes", "--keys", keysFile), 0, "erased: all data of the team team-blue")
}

// TestKeysErrors checks the errors of the commands.
func TestKeysErrors(t *testing.T) {
	clitest.Bare(t, map[string]string{"admin.yaml": "gateway: {admin_addr: '127.0.0.1:0'}\n"})
	makeKey(t, "--team", "a")
	for args, says := range map[string]string{
		"keys list":                      "no place for keys is configured",
		"keys create --keys " + keysFile: "the team is missing",
		"keys create --team a --limit money/week=1 --keys " + keysFile: "is not a limit like",
		"keys create --team a --expires soon --keys " + keysFile:       "nor a day",
		"keys create --team a --keys postgres://u:p@127.0.0.1/x":       "a password on the command line",
		"keys rotate tp-aaaaaaaaaa --grace -1h --keys " + keysFile:     "--grace",
		"usage --by moon --keys " + keysFile:                           "is not key, team, route, model, upstream, user, tag, day or request",
		"usage --json --csv --keys " + keysFile:                        "use one of them",
		"usage --since yesterday --keys " + keysFile:                   "nor a day",
		"serve --addr 0.0.0.0:0":                                       "without keys everyone can use your accounts",
		"serve --addr :0":                                              "--let-anyone-use-it",
		"serve --addr nonsense --let-anyone-use-it":                    "is not an address",
	} {
		programtest.Must(t, programtest.Run(t, "", strings.Fields(args)...), 2, says)
	}
	for says, args := range map[string][]string{ // values of unset variables
		"--models is empty":               {"--models", ""},
		"--tools is empty":                {"--tools", ""},
		"--routes is empty":               {"--routes", ""},
		"models: \"\" is not a name":      {"--models", "fast,"},
		"models: \" slow\" is not a name": {"--models", "fast, slow"},
		"--expires is empty":              {"--expires", ""},
		"--limit: \"\" is not a limit":    {"--limit", ""},
		"--limit: \"money/day=-1\"":       {"--limit", "money/day=-1"},
	} {
		programtest.Must(t, programtest.Run(t, "", append([]string{"keys", "create", "--team", "a", "--keys", keysFile}, args...)...), 2, says)
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "team", "a", "--limit", "tokens/day=5", "--keys", keysFile), 0, "tokens/day=5")
	programtest.Must(t, programtest.Run(t, "", "keys", "team", "a", "--keys", keysFile), 0, "tokens/day=5")
	programtest.Must(t, programtest.Run(t, "", "keys", "team", "b", "--keys", keysFile), 1, "there is no team b")
	programtest.Must(t, programtest.Run(t, "", "keys", "team", "a", "--no-limits", "--keys", keysFile), 0, "limits of team a: none")
	for args, says := range map[string]string{
		"keys rotate tp-aaaaaaaaaa --keys " + keysFile: "it is not there",
		"keys revoke tp-aaaaaaaaaa --keys " + keysFile: "it is not there",
		"keys list --keys keys.txt":                    "unknown kind of store; write sqlite:FILE",
		"serve --config admin.yaml":                    "the gateway has none: set keys",
		"serve --config admin.yaml --keys " + keysFile: serve.AdminKeyEnv,
	} {
		programtest.Must(t, programtest.Run(t, "", strings.Fields(args)...), 1, says)
	}
	lost := programtest.Run(t, "", "keys", "revoke", "tp-aaaaaaaaaa-ABCDEFGHIJKLMNOPQRSTUVWXYZ", "--keys", keysFile)
	programtest.Must(t, lost, 1, "it is not there")
	if strings.Contains(lost.ErrOut, "ABCDEF") {
		t.Errorf("a secret is said again: %s", lost.ErrOut)
	}
	secret := makeKey(t, "--team", "a")
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", secret, "--keys", keysFile), 0, "is revoked")
	t.Setenv(serve.AdminKeyEnv, "short")
	programtest.Must(t, programtest.Run(t, "", "serve", "--config", "admin.yaml", "--addr", "127.0.0.1:0", "--keys", keysFile), 1, "is too short; it needs at least 24 bytes")
}

// TestPublicAddress checks that a gateway with keys may listen on all addresses, and accepts any host name.
func TestPublicAddress(t *testing.T) {
	clitest.Bare(t, nil)
	key := makeKey(t, "--team", "a")
	for _, test := range []struct {
		args []string
		key  string
		want int
	}{
		{[]string{"--keys", keysFile}, key, 200}, {[]string{"--keys", keysFile}, "", 401}, {[]string{"--let-anyone-use-it"}, "", 200},
	} {
		url := programtest.StartServe(t, append(test.args, "--addr", "0.0.0.0:0")...)
		port := url[strings.LastIndex(url, ":")+1:]
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:"+port+"/v1/models", nil)
		r.Host = "gateway.example.org"
		r.Header.Set("X-Api-Key", test.key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != test.want {
			t.Errorf("%v: %d", test, resp.StatusCode)
		}
	}
}

// startProgram starts the gateway as a separate process and returns it with its address.
func startProgram(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), programtest.BeTheProgram)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	return cmd, url
}

// TestKilledUnderLoad kills a busy gateway. Clients see a closed connection. Keys and usage are intact: each response
// that a client read completely is counted exactly once.
func TestKilledUnderLoad(t *testing.T) {
	clitest.Bare(t, nil)
	key := makeKey(t, "--team", "a", "--limit", "requests/total=100000")
	gone := makeKey(t, "--team", "a")
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", gone[:13], "--keys", keysFile), 0)
	answered := 0
	for range 2 {
		cmd, url := startProgram(t, "--keys", keysFile)
		if status, _ := askWith(t, url, gone); status != 401 {
			t.Errorf("a revoked key: %d", status)
		}
		var got, sent atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					sent.Add(1)
					status, body, err := tryWith(t, url, key)
					switch {
					case err != nil:
						return // the connection was closed
					case status != 200:
						t.Errorf("%d %s", status, body)
						return
					}
					if got.Add(1) == 40 {
						_ = cmd.Process.Kill()
					}
				}
			})
		}
		wg.Wait()
		answered += int(got.Load())
		var sums []struct{ Requests, Failed int }
		r := programtest.Run(t, "", "usage", "--by", "key", "--json", "--keys", keysFile)
		if err := json.Unmarshal([]byte(r.Out), &sums); err != nil || len(sums) != 1 {
			t.Fatalf("%v\n%s", err, r.Out)
		}
		if n := sums[0].Requests; n < answered || n > answered+16 {
			t.Errorf("%d requests are counted, %d were answered", n, answered)
		}
		answered = sums[0].Requests
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "list", "--keys", keysFile), 0, key[:13], "revoked", "active")
}

// TestAdministrators creates a key with the administration API.
func TestAdministrators(t *testing.T) {
	clitest.Bare(t, map[string]string{"admin.yaml": "gateway: {keys: 'sqlite:keys.db', admin_addr: '127.0.0.1:0', log_retention: 24h, routes: [{model: '*', to: [{model: sim/offline}]}]}\n"})
	t.Setenv(serve.AdminKeyEnv, "a-key-that-is-long-enough-for-it")
	errOut, in := io.Pipe()
	said := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(errOut)
		line, _ := lines.ReadString('\n')
		said <- line
		_, _ = io.Copy(io.Discard, lines)
	}()
	url := programtest.StartServeWith(t, in, "--config", "admin.yaml", "--addr", "127.0.0.1:0")
	_, admin, _ := strings.Cut(strings.TrimSpace(<-said), "administrators on ")
	post, _ := http.NewRequestWithContext(t.Context(), "POST", admin+"/admin/keys", strings.NewReader(`{"team":"a","limits":["requests/day=1"]}`))
	post.Header.Set("Authorization", "Bearer "+os.Getenv(serve.AdminKeyEnv))
	post.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct{ ID, Secret string }
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || resp.StatusCode != 200 || made.Secret == "" {
		t.Fatalf("%d %+v %v", resp.StatusCode, made, err)
	}
	if status, body := askWith(t, url, made.Secret); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := askWith(t, url, os.Getenv(serve.AdminKeyEnv)); status != 401 {
		t.Error("the key of administrators is one of clients")
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "list", "--config", "admin.yaml"), 0, made.ID)
}

// TestTwoGatewaysOnPostgres checks that gateways on one PostgreSQL database share keys, limits and usage.
func TestTwoGatewaysOnPostgres(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv(keys.StoreEnv, pgtest.Schema(t, pgtest.Server(t)))
	r := programtest.Run(t, "", "keys", "create", "--team", "a", "--limit", "requests/total=6")
	programtest.Must(t, r, 0, "shown only this once")
	key := strings.TrimSpace(r.Out)
	one, two := programtest.StartServe(t, "--addr", "127.0.0.1:0"), programtest.StartServe(t, "--addr", "127.0.0.1:0")
	var in, out atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			switch status, body, err := tryWith(t, []string{one, two}[i%2], key); {
			case err != nil:
				t.Error(err)
			case status == 200:
				in.Add(1)
			case status == 429:
				out.Add(1)
			default:
				t.Errorf("%d %s", status, body)
			}
		})
	}
	wg.Wait()
	if in.Load() != 6 || out.Load() != 14 {
		t.Errorf("%d were let in, and %d not", in.Load(), out.Load())
	}
	programtest.Must(t, programtest.Run(t, "", "usage", "--by", "team", "--csv"), 0, "a,6,0,")
	programtest.Must(t, programtest.Run(t, "", "keys", "revoke", key[:13]), 0)
	for _, url := range []string{one, two} {
		if status, body := askWith(t, url, key); status != 401 {
			t.Errorf("%d %s", status, body)
		}
	}
}

// TestKeyStoreErrors checks that the keys commands explain problems with the store and how to fix them, as serve
// does.
func TestKeyStoreErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("This is no database, but quite a long text.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[string]string{
		"sqlite:":               "--keys: sqlite: names no file; write sqlite:FILE",
		"sqlite:notes.txt":      "--keys: notes.txt is not an SQLite database; name one, or a new file",
		"notes.txt":             "--keys: unknown kind of store; write sqlite:FILE",
		"sqlite:${HOME}/k.db":   "variables are not replaced here",
		"sqlite:no-folder/k.db": "",
	} {
		for _, args := range [][]string{{"keys", "create", "--team", "red"}, {"keys", "team", "red", "--limit", "money/month=1"}, {"keys", "list"}, {"usage"}} {
			makes := args[len(args)-1] != "list" && args[0] == "keys"
			said := want
			if keys == "sqlite:no-folder/k.db" {
				said = map[bool]string{true: "--keys: no-folder/k.db cannot be created: there is no folder no-folder", false: "there are no keys"}[makes]
			} else if strings.Contains(keys, "HOME") && !makes {
				said = "there are no keys" // under that name
			}
			r := programtest.Run(t, "", append(args, "--keys", keys)...)
			if r.Code == cli.ExitOK || !strings.Contains(r.ErrOut, said) {
				t.Errorf("%v --keys %s: %d %s", args, keys, r.Code, r.ErrOut)
			}
		}
	}
	t.Setenv(keys.StoreEnv, "sqlite:notes.txt")
	programtest.Must(t, programtest.Run(t, "", "keys", "list"), 1, keys.StoreEnv+": notes.txt is not an SQLite database")
}

// TestServeDurationErrors checks the errors for durations without a unit, and that mistakes in the environment are not
// attributed to the file.
func TestServeDurationErrors(t *testing.T) {
	dir := t.TempDir()
	for value, want := range map[string]string{
		"0.5": `gateway.drain: "0.5" is not a duration like 90s or 10m: it has no unit; write 0.5s for seconds`,
		"5":   `gateway.drain: "5" is not a duration like 90s or 10m: it has no unit; write 5s for seconds`,
	} {
		file := filepath.Join(dir, "c.yaml")
		if err := os.WriteFile(file, []byte("gateway:\n  drain: "+value+"\n  routes: [{model: m, to: [{model: sim/offline}]}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := programtest.Run(t, "", "serve", "--check", "--config", file); r.Code == cli.ExitOK || !strings.Contains(r.ErrOut, want) {
			t.Errorf("%s: %d %s", value, r.Code, r.ErrOut)
		}
	}
	file := filepath.Join(dir, "good.yaml")
	if err := os.WriteFile(file, []byte("gateway:\n  drain: 500ms\n  routes: [{model: m, to: [{model: sim/offline}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "odd")
	for _, test := range []struct{ sampler, arg, want string }{
		{"sometimes", "", `the environment: OTEL_TRACES_SAMPLER is "sometimes", and no such sampler is known; write one of always_off, always_on, `},
		{"traceidratio", "50%", `the environment: OTEL_TRACES_SAMPLER_ARG is "50%", and traceidratio wants the share of traces that are recorded: write a number from 0 to 1`},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", test.sampler)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", test.arg)
		r := programtest.Run(t, "", "serve", "--check", "--config", file)
		if r.Code == cli.ExitOK || !strings.Contains(r.ErrOut, test.want) || !strings.Contains(r.ErrOut, "the environment: OTEL_RESOURCE_ATTRIBUTES is not a list") || strings.Contains(r.ErrOut, "good.yaml") {
			t.Errorf("%s: %d %s", test.sampler, r.Code, r.ErrOut)
		}
	}
}

// TestUsageRefusesUnusedFlags: an invalid count, a count without a list, and a duplicate column are refused
// before the store is opened.
func TestUsageRefusesUnusedFlags(t *testing.T) {
	clitest.Bare(t, nil)
	makeKey(t, "--team", "a")
	for args, says := range map[string]string{
		"--by request --last -1":    "--last: -1 is not a number of requests",
		"--by request --last 0":     "--last: 0 is not a number of requests",
		"--by request --last 10001": "--last: 10001 is not a number of requests; it can be 1 to 10000",
		"--last 3":                  "--last says how many requests are listed, and goes only with --by request",
		"--by team --last 3":        "goes only with --by request",
		"--request req_1 --last 3":  "takes no --by, --last",
		"--by team,team":            "--by: team is named twice",
		"--by team,key,team --csv":  "--by: team is named twice",
	} {
		programtest.Must(t, programtest.Run(t, "", append([]string{"usage", "--keys", keysFile}, strings.Fields(args)...)...), 2, says)
	}
	programtest.Must(t, programtest.Run(t, "", "usage", "--by", "request", "--last", "1", "--keys", keysFile), 0, "the log has no request")
}

// TestUsageRowsAreLines: a name with a line break stays in its row.
func TestUsageRowsAreLines(t *testing.T) {
	var out bytes.Buffer
	cmd := new(cobra.Command)
	cmd.SetOut(&out)
	list := []access.Spend{{Route: "one\ntwo\tthree", Team: "a\r\nb"}, {Route: "plain", Team: "c"}}
	if err := keys.PrintSpend(cmd, list, []access.Grouping{access.ByRoute, access.ByTeam}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "one two three  a␍ b  0") || !strings.HasPrefix(lines[2], "plain          c     0") {
		t.Errorf("%q", lines)
	}
}
