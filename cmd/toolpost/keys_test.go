package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
	"github.com/toolpost/toolpost/internal/pgtest"
)

// keysFile is the store of keys in the tests.
const keysFile = "sqlite:keys.db"

// makeKey creates a key with the command.
func makeKey(t *testing.T, args ...string) string {
	t.Helper()
	r := toolpost(t, "", append([]string{"keys", "create", "--keys", keysFile}, args...)...)
	must(t, r, 0, "shown only this once")
	return strings.TrimSpace(r.out)
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
	must(t, toolpost(t, "", "keys", "list", "--keys", keysFile), 1, "there are no keys")
	key := makeKey(t, "--team", "research", "--name", "laptop", "--limit", "requests/day=100")
	id := key[:13]
	must(t, toolpost(t, "", "keys", "list", "--keys", keysFile), 0, id, "research", "laptop", "active", "requests/day=100")
	bounded := makeKey(t, "--team", "bounded", "--models", "fast", "--tools", "web_search", "--routes", "main", "--expires", "2099-01-31")
	must(t, toolpost(t, "", "keys", "list", "--keys", keysFile), 0, "TOOLS", "ROUTES", "fast", "web_search", "main", "2099-01-31T00:00:00Z")
	must(t, toolpost(t, "", "keys", "revoke", bounded[:13], "--keys", keysFile), 0)
	if keys.TokenSum(5, true)+keys.TokenSum(5, false)+keys.AmountSum(0, true) != "5~5$0.00*" {
		t.Error("what is estimated or has no price is not marked")
	}
	if r := toolpost(t, "", "keys", "list", "--json", "--keys", keysFile); strings.Contains(r.out, key) || strings.Contains(r.out, "hash") {
		t.Errorf("the list shows too much: %s", r.out)
	}
	url := startServe(t, "--addr", "127.0.0.1:0", "--keys", keysFile)
	for shown, want := range map[string]int{key: 200, "": 401, "tp-nobody": 401} {
		if status, body := askWith(t, url, shown); status != want {
			t.Errorf("%q: %d %s", shown, status, body)
		}
	}
	r := toolpost(t, "", "keys", "rotate", id, "--keys", keysFile)
	must(t, r, 0, id)
	second := strings.TrimSpace(r.out)
	for shown, want := range map[string]int{key: 401, second: 200} {
		if status, body := askWith(t, url, shown); status != want {
			t.Errorf("after rotating: %d %s", status, body)
		}
	}
	must(t, toolpost(t, "", "keys", "team", "research", "--limit", "requests/total=2", "--keys", keysFile), 0, "requests/total=2")
	if status, body := askWith(t, url, second); status != 429 {
		t.Errorf("over the limit of the team: %d %s", status, body)
	}
	must(t, toolpost(t, "", "keys", "revoke", id, "--keys", keysFile), 0, "is revoked")
	if status, body := askWith(t, url, second); status != 401 || !strings.Contains(body, "revoked") {
		t.Errorf("revoked: %d %s", status, body)
	}
	must(t, toolpost(t, "", "usage", "--by", "team,model", "--keys", keysFile), 0, "TEAM", "research", "any", "2")
	must(t, toolpost(t, "", "usage", "--by", "key", "--csv", "--since", "1d", "--keys", keysFile), 0, "key,requests,failed,cached,refused,input,output,usd,unpriced,estimated", id+",2,0,")
	must(t, toolpost(t, "", "usage", "--by", "key", "--keys", keysFile), 0, "REQUESTS", "CACHED", "REFUSED")
	must(t, toolpost(t, "", "usage", "--by", "route,upstream", "--keys", keysFile), 0, "ROUTE", "UPSTREAM", "sim/offline")
	must(t, toolpost(t, "", "usage", "--by", "request", "--keys", keysFile), 0, "req_", "ROUTE", "sim/offline")
	must(t, toolpost(t, "", "usage", "--by", "request", "--csv", "--keys", keysFile), 0, "at,id,team,key,route,model,upstream,format,status,cached,input,output,usd,unpriced,estimated,seconds,user,tag,attempts", "req_")
	var sums []struct {
		Day      string
		Requests int
		USD      float64
	}
	if r := toolpost(t, "", "usage", "--by", "day", "--json", "--keys", keysFile); json.Unmarshal([]byte(r.out), &sums) != nil || len(sums) != 1 || sums[0].Requests != 2 {
		t.Errorf("%s", r.out)
	}
	must(t, toolpost(t, "", "usage", "--since", "2999-01-01", "--keys", keysFile), 0, "nothing was used")
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
		must(t, toolpost(t, "", append([]string{"usage", "--keys", keysFile}, test.args...)...), test.code, test.says)
	}
}

// TestKeysSet checks that the bounds of a key can be changed, and that lists show which earlier secrets are
// valid.
func TestKeysSet(t *testing.T) {
	clitest.Bare(t, nil)
	id := makeKey(t, "--team", "a", "--models", "gpt-*")[:len("tp-k3f9x2qabc")]
	must(t, toolpost(t, "", "keys", "set", id, "--models", "claude-*", "--limit", "money/month=5", "--keys", keysFile), 0, "")
	if r := toolpost(t, "", "keys", "list", "--json", "--keys", keysFile); !strings.Contains(r.out, "claude-*") || strings.Contains(r.out, "gpt-*") || !strings.Contains(r.out, "money/month") {
		t.Errorf("%s%s", r.out, r.errOut)
	}
	must(t, toolpost(t, "", "keys", "rotate", id, "--grace", "2d", "--keys", keysFile), 0, "")
	if r := toolpost(t, "", "keys", "list", "--json", "--keys", keysFile); !strings.Contains(r.out, "earlier_until") {
		t.Errorf("%s", r.out)
	}
	must(t, toolpost(t, "", "keys", "team", "a", "--limit", "tokens/day=9", "--keys", keysFile), 0, "tokens/day=9")
	must(t, toolpost(t, "", "keys", "team", "a", "--json", "--keys", keysFile), 0, "tokens/day")
}

// TestKeysErase checks that a team is erased only with --yes, with its keys and its state, and that others stay.
func TestKeysErase(t *testing.T) {
	clitest.Bare(t, nil)
	makeKey(t, "--team", "team-red")
	makeKey(t, "--team", "team-blue")
	must(t, toolpost(t, "", "keys", "erase", "team-red", "--keys", keysFile), 2, "all data of the team team-red for ever; give --yes")
	must(t, toolpost(t, "", "keys", "erase", "team-red", "--user", "ada", "--yes", "--keys", keysFile), 0, "erased: the requests of the end user ada of the team team-red")
	must(t, toolpost(t, "", "keys", "list", "--keys", keysFile), 0, "team-red")
	must(t, toolpost(t, "", "keys", "erase", "team-red", "--yes", "--keys", keysFile), 0, "erased: all data of the team team-red")
	if r := toolpost(t, "", "keys", "list", "--keys", keysFile); strings.Contains(r.out, "team-red") || !strings.Contains(r.out, "team-blue") {
		t.Error(r.out)
	}
	must(t, toolpost(t, "", "keys", "erase", "team-red", "--yes", "--keys", keysFile), 1, "team-red")
	t.Setenv("TOOLPOST_GATEWAY_STATE", "memory")
	must(t, toolpost(t, "", "keys", "erase", "team-blue", "--yes", "--keys", keysFile), 0, "erased: all data of the team team-blue")
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
		must(t, toolpost(t, "", strings.Fields(args)...), 2, says)
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
		must(t, toolpost(t, "", append([]string{"keys", "create", "--team", "a", "--keys", keysFile}, args...)...), 2, says)
	}
	must(t, toolpost(t, "", "keys", "team", "a", "--limit", "tokens/day=5", "--keys", keysFile), 0, "tokens/day=5")
	must(t, toolpost(t, "", "keys", "team", "a", "--keys", keysFile), 0, "tokens/day=5")
	must(t, toolpost(t, "", "keys", "team", "b", "--keys", keysFile), 1, "there is no team b")
	must(t, toolpost(t, "", "keys", "team", "a", "--no-limits", "--keys", keysFile), 0, "limits of team a: none")
	for args, says := range map[string]string{
		"keys rotate tp-aaaaaaaaaa --keys " + keysFile: "it is not there",
		"keys revoke tp-aaaaaaaaaa --keys " + keysFile: "it is not there",
		"keys list --keys keys.txt":                    "unknown kind of store; write sqlite:FILE",
		"serve --config admin.yaml":                    "the gateway has none: set keys",
		"serve --config admin.yaml --keys " + keysFile: serve.AdminKeyEnv,
	} {
		must(t, toolpost(t, "", strings.Fields(args)...), 1, says)
	}
	lost := toolpost(t, "", "keys", "revoke", "tp-aaaaaaaaaa-ABCDEFGHIJKLMNOPQRSTUVWXYZ", "--keys", keysFile)
	must(t, lost, 1, "it is not there")
	if strings.Contains(lost.errOut, "ABCDEF") {
		t.Errorf("a secret is said again: %s", lost.errOut)
	}
	secret := makeKey(t, "--team", "a")
	must(t, toolpost(t, "", "keys", "revoke", secret, "--keys", keysFile), 0, "is revoked")
	t.Setenv(serve.AdminKeyEnv, "short")
	must(t, toolpost(t, "", "serve", "--config", "admin.yaml", "--addr", "127.0.0.1:0", "--keys", keysFile), 1, "is too short; it needs at least 24 bytes")
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
		url := startServe(t, append(test.args, "--addr", "0.0.0.0:0")...)
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
	cmd.Env = append(os.Environ(), beTheProgram)
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
	must(t, toolpost(t, "", "keys", "revoke", gone[:13], "--keys", keysFile), 0)
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
		r := toolpost(t, "", "usage", "--by", "key", "--json", "--keys", keysFile)
		if err := json.Unmarshal([]byte(r.out), &sums); err != nil || len(sums) != 1 {
			t.Fatalf("%v\n%s", err, r.out)
		}
		if n := sums[0].Requests; n < answered || n > answered+16 {
			t.Errorf("%d requests are counted, %d were answered", n, answered)
		}
		answered = sums[0].Requests
	}
	must(t, toolpost(t, "", "keys", "list", "--keys", keysFile), 0, key[:13], "revoked", "active")
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
	url := startServeWith(t, in, "--config", "admin.yaml", "--addr", "127.0.0.1:0")
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
	must(t, toolpost(t, "", "keys", "list", "--config", "admin.yaml"), 0, made.ID)
}

// TestTwoGatewaysOnPostgres checks that gateways on one PostgreSQL database share keys, limits and usage.
func TestTwoGatewaysOnPostgres(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv(keys.StoreEnv, pgtest.Schema(t, pgtest.Server(t)))
	r := toolpost(t, "", "keys", "create", "--team", "a", "--limit", "requests/total=6")
	must(t, r, 0, "shown only this once")
	key := strings.TrimSpace(r.out)
	one, two := startServe(t, "--addr", "127.0.0.1:0"), startServe(t, "--addr", "127.0.0.1:0")
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
	must(t, toolpost(t, "", "usage", "--by", "team", "--csv"), 0, "a,6,0,")
	must(t, toolpost(t, "", "keys", "revoke", key[:13]), 0)
	for _, url := range []string{one, two} {
		if status, body := askWith(t, url, key); status != 401 {
			t.Errorf("%d %s", status, body)
		}
	}
}
