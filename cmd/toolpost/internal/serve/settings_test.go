package serve_test

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// settingTests names the test that observes the effect of each setting. TestSettingsChangeWhatHappens compares a gateway
// without the setting to one with it.
var settingTests = map[string]string{
	"addr": "TestServe", "routes": "TestServe", "routes.model": "TestServe", "routes.to": "TestServe", "routes.to.model": "TestServe",
	"keep_alive": "TestSettingsChangeWhatHappens", "max_body": "TestSettingsChangeWhatHappens", "max_requests": "TestSettingsChangeWhatHappens",
	"routes.from": "TestSettingsChangeWhatHappens", "routes.hidden": "TestSettingsChangeWhatHappens", "routes.fallback": "TestSettingsChangeWhatHappens",
	"routes.check": "TestSettingsChangeWhatHappens", "routes.max_requests": "TestSettingsChangeWhatHappens", "routes.hedge_after": "TestSettingsChangeWhatHappens",
	"routes.timeout": "TestSettingsChangeWhatHappens", "routes.first_byte": "TestSettingsChangeWhatHappens", "routes.idle": "TestSettingsChangeWhatHappens",
	"routes.retries": "TestSettingsChangeWhatHappens", "routes.cooldown": "TestSettingsChangeWhatHappens", "routes.strategy": "TestStrategies",
	"routes.thinking": "TestSettingsChangeWhatHappens", "routes.tool_choice": "TestSettingsChangeWhatHappens", "routes.text_calls": "TestSettingsChangeWhatHappens",
	"routes.echoes": "TestSettingsChangeWhatHappens", "routes.dialect": "TestEachOverride", "routes.thinking_route": "TestRoutingByTask", "routes.long_route": "TestRoutingByTask",
	"routes.long_over": "TestRoutingByTask", "routes.image_route": "TestRoutingByTask", "console": "TestServeHasTheConsole", "routes.cache": "TestSettingsChangeWhatHappens",
	"routes.cache_tools": "TestSettingsChangeWhatHappens", "routes.cache_marks": "TestCacheMarksAreInserted", "routes.pass": "TestSettingsChangeWhatHappens",
	"routes.pass_team": "TestForwardingWithKeys", "routes.log_bodies": "TestServeLogBodies", "routes.tools": "TestServeTools", "routes.mcp": "TestServeTools",
	"routes.yes_to": "TestServeApproval", "routes.rounds": "TestServedRounds", "routes.approval": "TestServeApproval", "routes.approval_for": "TestWaitingCallExpires",
	"routes.to.weight": "TestSettingsChangeWhatHappens", "routes.to.tools": "TestSettingsChangeWhatHappens", "routes.to.style": "TestSettingsChangeWhatHappens", "routes.to.gate": "TestGateOfAnUpstream",
	"routes.to.health": "TestSettingsChangeWhatHappens", "routes.to.drift_every": "TestDriftedUpstreamIsSkipped", "routes.to.drift_below": "TestDriftedUpstreamIsSkipped", "routes.to.priority": "TestSettingsChangeWhatHappens", "routes.to.max_in_flight": "TestSettingsChangeWhatHappens",
	"routes.to.timeout": "TestSettingsChangeWhatHappens", "routes.to.first_byte": "TestSettingsChangeWhatHappens", "routes.to.idle": "TestSettingsChangeWhatHappens",
	"routes.to.retries": "TestSettingsChangeWhatHappens", "routes.to.cooldown": "TestSettingsChangeWhatHappens",
	"ops_addr": "TestServeOps", "ops_hosts": "TestOpsAddressRefusesBrowsers", "tls": "TestServeTLS", "tls.cert": "TestServeTLS", "tls.key": "TestServeTLS",
	"drain": "TestServeDrains", "drain_delay": "TestLameDuckServesRequestsAfterSIGTERM", "log_format": "TestEveryLineOfALogInJSON", "reload": "TestServeReloads",
	"max_header": "TestServeLimits", "header_timeout": "TestServeLimits", "body_timeout": "TestServeLimits", "write_timeout": "TestUnreadHTTP2Connections",
	"idle_timeout": "TestSettingsChangeWhatHappens", "answers_for": "TestSettingsChangeWhatHappens",
	"keys": "TestKeys", "state": "TestStateSetting", "reserve": "TestReserveSetting", "log_retention": "TestLogRetentionSetting", "log_bodies": "TestServeLogBodies",
	"log_body_size": "TestServeLogBodies", "admin_addr": "TestAdministrators", "admin_hosts": "TestAdminAPIIsLocal", "webhook": "TestBudgetWebhook", "webhook_at": "TestBudgetWebhook",
}

// TestEverySettingHasABehaviourTest fails for a setting of the gateway without a test that observes its effect.
func TestEverySettingHasABehaviourTest(t *testing.T) {
	tests := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, root := range []string{".", "../../../../gateway"} {
		err := filepath.WalkDir(root, func(file string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				tests[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	known := make(map[string]bool)
	for _, s := range configcheck.All(reflect.TypeFor[settings.GatewayConfig]()) {
		known[s.Path] = true
		switch name := settingTests[s.Path]; {
		case name == "":
			t.Errorf("no test observes the setting %s: write one and name it in settingTests", s.Path)
		case !tests[name]:
			t.Errorf("the test %s of the setting %s does not exist", name, s.Path)
		case name == "TestSettingsChangeWhatHappens" && !slices.ContainsFunc(settingEffects, func(e settingEffect) bool { return slices.Contains(e.settings, s.Path) }):
			t.Errorf("TestSettingsChangeWhatHappens has no row for %s", s.Path)
		}
	}
	for path := range settingTests {
		if !known[path] {
			t.Errorf("there is no setting %s", path)
		}
	}
}

// settingUpstream is a chat server whose models behave as their names say.
type settingUpstream struct {
	mu    sync.Mutex
	asked []string // bodies, and paths of requests without one
}

func (u *settingUpstream) times(part string) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, a := range u.asked {
		if strings.Contains(a, part) {
			n++
		}
	}
	return n
}

const settingCall = `<tool_call>{\"name\":\"look\",\"arguments\":{\"q\":\"x\"}}</tool_call>`

func (u *settingUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.asked = append(u.asked, r.URL.Path+" "+string(body))
	n := len(u.asked)
	u.mu.Unlock()
	var asked struct {
		Model  string
		Stream bool
	}
	_ = json.Unmarshal(body, &asked)
	content, calls := `"`+asked.Model+`"`, ""
	switch asked.Model {
	case "late", "gpt-4.1":
		select {
		case <-time.After(400 * time.Millisecond):
		case <-r.Context().Done():
		}
	case "down":
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "flaky":
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
	case "writes":
		content = `"` + settingCall + `"`
	case "wrong":
		content, calls = "null", `,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"q\":[1,2]}"}}]`
	}
	if !asked.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s%s}}],"usage":{"prompt_tokens":5,"completion_tokens":5}}`, content, calls)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, piece := range []string{`{"role":"assistant","content":` + content + `},"finish_reason":null`, `{},"finish_reason":"stop"`} {
		if i == 1 && asked.Model == "stalls" {
			_ = http.NewResponseController(w).Flush()
			time.Sleep(400 * time.Millisecond)
		}
		fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", piece)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// settingGateway is a gateway that a row asks.
type settingGateway struct {
	*testing.T
	url string
	up  *settingUpstream
}

// do sends a request and returns the status, the header and the answer.
func (g settingGateway) do(method, path, body string) (int, http.Header, string) {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		g.Fatal(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(answer)
}

// chat asks the model m, with more members.
func (g settingGateway) chat(more string) (int, http.Header, string) {
	g.Helper()
	return g.do("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]`+more+`}`)
}

const settingTool = `,"tools":[{"type":"function","function":{"name":"look","description":"Look something up","parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}]`

// The observations of rows. They return a short text.

func status(more string) func(settingGateway) string {
	return func(g settingGateway) string { code, _, _ := g.chat(more); return fmt.Sprint(code) }
}

// whole reports whether a stream ended as it should.
func whole(g settingGateway) string {
	_, _, answer := g.chat(`,"stream":true`)
	return fmt.Sprint(strings.Contains(answer, "[DONE]") && !strings.Contains(answer, `"error"`))
}

// answered returns the models that answered eight requests.
func answered(g settingGateway) string {
	found := map[string]bool{}
	for range 8 {
		_, _, answer := g.chat("")
		for _, name := range []string{"one", "two", "late"} {
			found[name] = found[name] || strings.Contains(answer, `"`+name+`"`)
		}
	}
	return fmt.Sprint(found["one"], found["two"], found["late"])
}

// second returns the status of a request during another.
func second(g settingGateway) string {
	var wg sync.WaitGroup
	wg.Go(func() { g.chat("") })
	for g.up.times("late") == 0 {
		time.Sleep(time.Millisecond)
	}
	code, _, _ := g.chat("")
	wg.Wait()
	return fmt.Sprint(code)
}

// sent returns an observation of whether the upstream got a text.
func sent(more string, parts ...string) func(settingGateway) string {
	return func(g settingGateway) string {
		g.chat(more)
		var got []string
		for _, p := range parts {
			got = append(got, fmt.Sprint(g.up.times(p) > 0))
		}
		return strings.Join(got, " ")
	}
}

// asked returns how often the upstream was asked the same.
func asked(more string) func(settingGateway) string {
	return func(g settingGateway) string {
		g.chat(more)
		g.chat(more)
		return fmt.Sprint(g.up.times("completions"))
	}
}

// called reports whether the answer has a call.
func called(body string) func(settingGateway) string {
	return func(g settingGateway) string {
		_, _, answer := g.do("POST", "/v1/chat/completions", body)
		return fmt.Sprint(strings.Contains(answer, `"tool_calls"`))
	}
}

// settingEffect compares a gateway without a setting to one with it.
type settingEffect struct {
	settings          []string
	gateway, to, more string // settings of the gateway, the upstreams and the route of both
	with              string // the setting of the second, after its place: gateway, route or to
	observe           func(settingGateway) string
	was, is           string
}

var settingEffects = []settingEffect{
	{settings: []string{"keep_alive"}, to: "{model: up/stalls}", with: "gateway keep_alive: 50ms", observe: func(g settingGateway) string {
		_, _, answer := g.chat(`,"stream":true`)
		return fmt.Sprint(strings.Contains(answer, "\n:") || strings.HasPrefix(answer, ":"))
	}, was: "false", is: "true"},
	{settings: []string{"max_body"}, to: "{model: up/one}", with: "gateway max_body: 1024", observe: status(`,"user":"` + strings.Repeat("x", 1100) + `"`), was: "200", is: "413"},
	{settings: []string{"max_requests"}, to: "{model: up/late}", with: "gateway max_requests: 1", observe: second, was: "200", is: "503"},
	{settings: []string{"routes.max_requests"}, to: "{model: up/late}", with: "route max_requests: 1", observe: second, was: "200", is: "429"},
	{settings: []string{"routes.to.max_in_flight"}, to: "{model: up/late ADD}", with: "to max_in_flight: 1", observe: second, was: "200", is: "429"},
	{settings: []string{"routes.from"}, to: "{model: up/one}", with: "route from: [messages]", observe: status(""), was: "200", is: "404"},
	{settings: []string{"routes.hidden"}, to: "{model: up/one}", with: "route hidden: true", observe: func(g settingGateway) string {
		_, _, list := g.do("GET", "/v1/models", "")
		code, _, _ := g.chat("")
		return fmt.Sprint(strings.Contains(list, `"m"`), code)
	}, was: "true 200", is: "false 200"},
	{settings: []string{"routes.fallback"}, to: "{model: up/down}", more: "retries: 0", with: "route fallback: [other]", observe: status(""), was: "500", is: "200"},
	{settings: []string{"routes.check"}, to: "{model: up/wrong, tools: native}", with: "route check: off", observe: func(g settingGateway) string {
		_, header, _ := g.chat(settingTool)
		return fmt.Sprint(strings.Contains(strings.Join(header.Values("Toolpost-Warning"), " "), "look"))
	}, was: "true", is: "false"},
	{settings: []string{"routes.hedge_after"}, to: "{model: up/late}, {model: up/one, priority: 2}", with: "route hedge_after: 50ms", observe: answered, was: "false false true", is: "true false false"},
	{settings: []string{"routes.timeout"}, to: "{model: up/late}", more: "retries: 0", with: "route timeout: 100ms", observe: status(""), was: "200", is: "504"},
	{settings: []string{"routes.to.timeout"}, to: "{model: up/late ADD}", more: "retries: 0", with: "to timeout: 100ms", observe: status(""), was: "200", is: "504"},
	{settings: []string{"routes.first_byte"}, to: "{model: up/late}", more: "retries: 0", with: "route first_byte: 100ms", observe: status(""), was: "200", is: "504"},
	{settings: []string{"routes.to.first_byte"}, to: "{model: up/late ADD}", more: "retries: 0", with: "to first_byte: 100ms", observe: status(""), was: "200", is: "504"},
	{settings: []string{"routes.idle"}, to: "{model: up/stalls}", with: "route idle: 100ms", observe: whole, was: "true", is: "false"},
	{settings: []string{"routes.to.idle"}, to: "{model: up/stalls ADD}", with: "to idle: 100ms", observe: whole, was: "true", is: "false"},
	{settings: []string{"routes.retries"}, to: "{model: up/flaky}", with: "route retries: 0", observe: status(""), was: "200", is: "500"},
	{settings: []string{"routes.to.retries"}, to: "{model: up/flaky ADD}", with: "to retries: 0", observe: status(""), was: "200", is: "500"},
	{settings: []string{"routes.cooldown"}, to: "{model: up/down}, {model: up/one, priority: 2}", more: "retries: 0", with: "route cooldown: 1ms", observe: pausing, was: "3", is: "10"},
	{settings: []string{"routes.to.cooldown"}, to: "{model: up/down ADD}, {model: up/one, priority: 2}", more: "retries: 0", with: "to cooldown: 1ms", observe: pausing, was: "3", is: "10"},
	{settings: []string{"routes.thinking"}, to: "{model: up/one}", with: "route thinking: high", observe: sent("", `"high"`), was: "false", is: "true"},
	{settings: []string{"routes.tool_choice"}, to: "{model: up/one, tools: native}", with: "route tool_choice: required", observe: sent(settingTool, `"tool_choice":"required"`), was: "false", is: "true"},
	{settings: []string{"routes.text_calls"}, to: "{model: up/writes, tools: native}", with: "route text_calls: off", observe: called(`{"model":"m","messages":[{"role":"user","content":"hi"}]` + settingTool + `}`), was: "true", is: "false"},
	{settings: []string{"routes.echoes"}, to: "{model: up/writes, tools: native}", with: "route echoes: true", observe: called(`{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{\"q\":\"y\"}"}}]},{"role":"tool","tool_call_id":"c","content":"` + settingCall + `"}]` + settingTool + `}`), was: "false", is: "true"},
	{settings: []string{"routes.cache"}, to: "{model: up/one}", with: "route cache: 1m", observe: asked(""), was: "2", is: "1"},
	{settings: []string{"routes.cache_tools"}, to: "{model: up/one, tools: native}", more: "cache: 1m", with: "route cache_tools: true", observe: asked(settingTool), was: "2", is: "1"},
	{settings: []string{"routes.pass"}, to: "{model: up/one}", with: "route pass: [embeddings]", observe: func(g settingGateway) string {
		code, _, _ := g.do("POST", "/v1/embeddings", `{"model":"m","input":"hi"}`)
		return fmt.Sprint(code)
	}, was: "404", is: "200"},
	{settings: []string{"routes.to.weight"}, to: "{model: up/one ADD}, {model: up/two}", with: "to weight: 0", observe: answered, was: "true true false", is: "false true false"},
	{settings: []string{"routes.to.priority"}, to: "{model: up/one ADD}, {model: up/two}", with: "to priority: 2", observe: answered, was: "true true false", is: "false true false"},
	{settings: []string{"routes.to.tools"}, to: "{model: up/one ADD}", with: "to tools: native", observe: sent(settingTool, `"tools":[`), was: "false", is: "true"},
	{settings: []string{"routes.to.style"}, to: "{model: up/one, tools: prompted ADD}", with: "to style: xml", observe: sent(settingTool, `write these elements`), was: "false", is: "true"},
	{settings: []string{"routes.to.health"}, to: "{model: up/one ADD}", with: "to health: 1s", observe: func(g settingGateway) string {
		time.Sleep(1500 * time.Millisecond)
		return fmt.Sprint(g.up.times("") > 0)
	}, was: "false", is: "true"},
	{settings: []string{"idle_timeout"}, to: "{model: up/one}", with: "gateway idle_timeout: 50ms", observe: func(g settingGateway) string {
		g.do("GET", "/v1/models", "")
		return keptFor(g, 400*time.Millisecond)
	}, was: "true", is: "false"},
	{settings: []string{"answers_for"}, to: "{model: up/one}", with: "gateway answers_for: 1ms", observe: func(g settingGateway) string {
		_, _, answer := g.do("POST", "/v1/responses", `{"model":"m","input":"hi"}`)
		var stored struct{ ID string }
		_ = json.Unmarshal([]byte(answer), &stored)
		time.Sleep(20 * time.Millisecond)
		code, _, _ := g.do("POST", "/v1/responses", `{"model":"m","input":"more","previous_response_id":"`+stored.ID+`"}`)
		return fmt.Sprint(stored.ID != "", code)
	}, was: "true 200", is: "true 400"},
}

// pausing returns how often ten requests reach an upstream that fails, with a short time between them.
func pausing(g settingGateway) string {
	for range 10 {
		g.chat("")
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Sprint(g.up.times(`"down"`))
}

// keptFor reports whether a connection without a request stays open for some time.
func keptFor(g settingGateway, long time.Duration) string {
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		g.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		g.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = conn.SetReadDeadline(time.Now().Add(long))
	_, err = reader.ReadByte()
	return fmt.Sprint(errors.Is(err, os.ErrDeadlineExceeded))
}

// TestSettingsChangeWhatHappens compares two gateways for each row: only one has the setting.
func TestSettingsChangeWhatHappens(t *testing.T) {
	clitest.Bare(t, nil)
	for _, e := range settingEffects {
		t.Run(strings.Join(e.settings, " "), func(t *testing.T) {
			for _, with := range []bool{false, true} {
				up := new(settingUpstream)
				server := httptest.NewServer(up)
				t.Cleanup(server.Close)
				gateway, route, to, want := e.gateway, "model: m", e.to, e.was
				if e.more != "" {
					route += ", " + e.more
				}
				place, setting, _ := strings.Cut(e.with, " ")
				add := ""
				if with {
					want = e.is
					switch place {
					case "gateway":
						gateway = setting
					case "route":
						route += ", " + setting
					case "to":
						add = ", " + setting
					}
				}
				to = strings.ReplaceAll(to, " ADD", add)
				url, _, _ := servedAt(t, fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  addr: 127.0.0.1:0\n  %s\n  routes:\n    - {%s, to: [%s]}\n    - {model: other, to: [{model: up/one}]}\n", server.URL, gateway, route, to))
				if got := e.observe(settingGateway{t, url, up}); got != want {
					t.Errorf("with %s: %t: %s, not %s", e.with, with, got, want)
				}
			}
		})
	}
}

// TestReserveSetting checks what a request without max_tokens reserves while it runs: a second one is refused if the first has
// reserved the maximum of the model (32,768 tokens), or a large number.
func TestReserveSetting(t *testing.T) {
	for _, test := range []struct {
		setting string
		limit   int
		want    int
	}{{"", 12_000, 200}, {"reserve: max", 40_000, 429}, {"reserve: max", 80_000, 200}, {"reserve: 15000", 12_000, 429}, {"reserve: 10", 12_000, 200}} {
		setting, want := test.setting, test.want
		clitest.Bare(t, nil)
		key := makeKey(t, "--team", "red", "--limit", fmt.Sprintf("tokens/day=%d", test.limit))
		up := new(settingUpstream)
		server := httptest.NewServer(up)
		t.Cleanup(server.Close)
		url, _, _ := servedAt(t, fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  addr: 127.0.0.1:0\n  keys: %s\n  %s\n  routes: [{model: any, to: [{model: up/gpt-4.1}]}]\n", server.URL, keysFile, setting))
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = tryWith(t, url, key) })
		for up.times("gpt-4.1") == 0 {
			time.Sleep(time.Millisecond)
		}
		if status, answer := askWith(t, url, key); status != want {
			t.Errorf("%q: %d %s", setting, status, answer)
		}
		wg.Wait()
	}
}

// TestLogRetentionSetting checks that a gateway deletes old rows of the log of requests at its start.
func TestLogRetentionSetting(t *testing.T) {
	for setting, want := range map[string]bool{"": true, "log_retention: 1h": false, "log_retention: 3h": true} {
		clitest.Bare(t, nil)
		key := makeKey(t, "--team", "red")
		db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(keysFile, "sqlite:"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		config := "gateway:\n  addr: 127.0.0.1:0\n  keys: " + keysFile + "\n  " + setting + "\n"
		url, _, _ := servedAt(t, config)
		if status, answer := askWith(t, url, key); status != http.StatusOK {
			t.Fatal(answer)
		}
		rows := func() (n int) {
			if err := db.QueryRow("SELECT COUNT(*) FROM toolpost_request").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for rows() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		var at int64
		if err := db.QueryRow("SELECT at FROM toolpost_request").Scan(&at); err != nil {
			t.Fatal(err)
		}
		unit := at / time.Now().Unix() // of a second
		if _, err := db.Exec("UPDATE toolpost_request SET at = at - $1", 2*3600*unit); err != nil {
			t.Fatal(err)
		}
		servedAt(t, config)
		there := true
		for range 100 {
			if there = rows() > 0; !there {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if there != want {
			t.Errorf("%q: the row of two hours ago is there: %t", setting, there)
		}
	}
}
