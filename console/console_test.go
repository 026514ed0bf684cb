package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"iter"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/console"
	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

const (
	viewerToken   = "viewer-token-of-the-tests"
	operatorToken = "operator-token-of-the-tests"
	adminToken    = "admin-token-of-the-tests"
)

// person is a browser that has logged in.
type person struct {
	*http.Client
	t    *testing.T
	url  string
	form string
}

var formField = regexp.MustCompile(`name="form" value="([^"]+)"`)

func serve(t *testing.T, c *console.Console) *httptest.Server {
	t.Helper()
	c.Accounts = []console.Account{{Name: "vera", Token: viewerToken}, {Name: "otto", Permission: console.Operator, Token: operatorToken}, {Name: "ada", Permission: console.Admin, Token: adminToken}}
	c.Poll = 5 * time.Millisecond
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return s
}

func login(t *testing.T, address, token string) *person {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	p := &person{Client: &http.Client{Jar: jar, Transport: &http.Transport{}}, t: t, url: address}
	t.Cleanup(p.CloseIdleConnections)
	status, body := p.post("/login", url.Values{"token": {token}})
	if status != http.StatusOK {
		t.Fatalf("login: %d %s", status, body)
	}
	if m := formField.FindStringSubmatch(body); m != nil {
		p.form = m[1]
	}
	return p
}

func (p *person) get(path string) (int, string) {
	p.t.Helper()
	resp, err := p.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	return read(p.t, resp)
}

func (p *person) post(path string, form url.Values) (int, string) {
	p.t.Helper()
	if form.Get("form") == "" {
		form.Set("form", p.form)
	}
	req, _ := http.NewRequest(http.MethodPost, p.url+path, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", p.url)
	resp, err := p.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	return read(p.t, resp)
}

func read(t *testing.T, resp *http.Response) (int, string) {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// payTool changes something, so a run asks before it is called.
func payTool(paid *[]string) tool.Tool {
	pay := tool.Func("pay", "Pays an invoice.", func(_ context.Context, in struct {
		Invoice string `json:"invoice"`
	}) (string, error) {
		*paid = append(*paid, in.Invoice)
		return "paid " + in.Invoice, nil
	})
	pay.Effects = 0
	return pay
}

// payer returns an agent whose calls of pay wait for a person.
func payer(t *testing.T, store journal.Store, script string, paid *[]string) *agent.Agent {
	t.Helper()
	model, err := sim.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Agent{Model: model, ID: "sim/script", Tools: &invoke.Runner{Tools: tool.MustSet(payTool(paid)), Policy: invoke.AskFirst(invoke.AllowReadOnly),
		Approve: func(context.Context, invoke.Question) (journal.Approval, error) {
			return journal.Approval{}, &invoke.PendingError{Until: time.Now().Add(time.Hour)}
		}}, Store: store}
}

const payScript = "-- 1 --\ncall pay {\"invoice\": \"2026-17\"}\n-- 2 --\ntext Done.\n"

// waitingRun records a run that waits for a person.
func waitingRun(t *testing.T, store journal.Store, paid *[]string) string {
	t.Helper()
	done, err := payer(t, store, payScript, paid).Ask(t.Context(), llm.User("Pay the invoice"))
	if err != nil || done.Status != agent.StatusPending {
		t.Fatalf("%v %v", done.Status, err)
	}
	return done.Run
}

// memory is a store in memory with the lines of its runs.
type memory struct{ journal.Memory }

func (m *memory) Lines(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range m.Read(ctx, run, 1) {
			var line []byte
			if err == nil {
				line, err = e.Line()
			}
			if !yield(append(line, '\n'), err) || err != nil {
				return
			}
		}
	}
}

// TestApproveInTheConsole decides about a call as a person would: look, allow, resume.
func TestApproveInTheConsole(t *testing.T) {
	for _, c := range []struct {
		name string
		form func(url.Values)
		paid []string
	}{
		{"allow", func(v url.Values) { v.Set("decision", "approve") }, []string{"2026-17"}},
		{"deny", func(v url.Values) { v.Set("decision", "deny"); v.Set("reason", "not today") }, nil},
		{"edit", func(v url.Values) { v.Set("decision", "approve"); v.Set("args", `{"invoice": "2026-18"}`) }, []string{"2026-18"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, paid := new(memory), []string(nil)
			run := waitingRun(t, store, &paid)
			s := serve(t, &console.Console{Store: store})
			p := login(t, s.URL, operatorToken)
			_, body := p.get("/approvals")
			for _, want := range []string{run, "pay", "2026-17"} {
				if !strings.Contains(body, want) {
					t.Errorf("the page does not show %s", want)
				}
			}
			form := url.Values{"hash": {hidden(t, body, "hash")}, "args": {area(t, body)}}
			c.form(form)
			status, body := p.post("/approvals/"+run+"/call_1", form)
			if status != http.StatusOK || !strings.Contains(body, "No call waits") {
				t.Fatalf("%d %s", status, body)
			}
			done, err := agent.Last(payer(t, store, payScript, &paid).Resume(t.Context(), run))
			if err != nil || done.Status != agent.StatusFinished || !slices.Equal(paid, c.paid) {
				t.Errorf("%v %v, paid %q, want %q", done.Status, err, paid, c.paid)
			}
			if _, body = p.get("/runs/" + run); !strings.Contains(body, "by otto") {
				t.Error("the run does not show who decided")
			}
		})
	}
}

func hidden(t *testing.T, body, name string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("no field %s in %s", name, body)
	}
	return html.UnescapeString(m[1])
}

func area(t *testing.T, body string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)<textarea[^>]*name="args"[^>]*>(.*?)</textarea>`).FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("no arguments in %s", body)
	}
	return html.UnescapeString(m[1])
}

// TestApprovalsAreRefused tries decisions that must not be recorded.
func TestApprovalsAreRefused(t *testing.T) {
	store, paid := new(memory), []string(nil)
	run := waitingRun(t, store, &paid)
	s := serve(t, &console.Console{Store: store})
	operator, viewer := login(t, s.URL, operatorToken), login(t, s.URL, viewerToken)
	_, body := operator.get("/approvals")
	good := func() url.Values {
		return url.Values{"hash": {hidden(t, body, "hash")}, "args": {area(t, body)}, "decision": {"approve"}}
	}
	if _, body := viewer.get("/approvals"); strings.Contains(body, `value="approve"`) || !strings.Contains(body, "2026-17") {
		t.Error("a viewer must see the call, and no button")
	}
	path := "/approvals/" + run + "/call_1"
	for _, c := range []struct {
		name   string
		who    *person
		path   string
		change func(url.Values)
		status int
	}{
		{"by a viewer", viewer, path, func(url.Values) {}, 403},
		{"with the form of another session", operator, path, func(v url.Values) { v.Set("form", viewer.form) }, 403},
		{"without a form", operator, path, func(v url.Values) { v.Set("form", "x") }, 403},
		{"of other arguments", operator, path, func(v url.Values) { v.Set("hash", "sha256:"+strings.Repeat("0", 64)) }, 409},
		{"without arguments shown", operator, path, func(v url.Values) { v.Del("hash") }, 409},
		{"of an unknown call", operator, "/approvals/" + run + "/call_2", func(url.Values) {}, 409},
		{"of an unknown run", operator, "/approvals/20200101-000000-aaaaaaaa/call_1", func(url.Values) {}, 409},
		{"of a path", operator, "/approvals/..%2f..%2fetc/call_1", func(url.Values) {}, 404},
		{"without a decision", operator, path, func(v url.Values) { v.Del("decision") }, 400},
		{"with text for arguments", operator, path, func(v url.Values) { v.Set("args", "rm -rf") }, 400},
		{"with arguments that do not match", operator, path, func(v url.Values) { v.Set("args", `{"invoice": 7, "x": 1}`) }, 400},
	} {
		form := good()
		c.change(form)
		if status, body := c.who.post(c.path, form); status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, body)
		}
	}
	if waiting, err := agent.Waiting(t.Context(), store, run); err != nil || len(waiting) != 1 {
		t.Errorf("%d calls wait, %v", len(waiting), err)
	}
}

// TestEditKeepsWhatThePageCannotShow changes one field of arguments in which another has a hidden character.
func TestEditKeepsWhatThePageCannotShow(t *testing.T) {
	store, paid := new(memory), []string(nil)
	script := "-- 1 --\ncall pay {\"invoice\": \"a\u202eb\"}\n-- 2 --\ntext Done.\n"
	done, err := payer(t, store, script, &paid).Ask(t.Context(), llm.User("Pay the invoice"))
	if err != nil || done.Status != agent.StatusPending {
		t.Fatalf("%v %v", done.Status, err)
	}
	s := serve(t, &console.Console{Store: store})
	p := login(t, s.URL, operatorToken)
	_, body := p.get("/approvals")
	form := url.Values{"hash": {hidden(t, body, "hash")}, "args": {strings.Replace(area(t, body), "b", "c", 1)}, "decision": {"approve"}}
	if status, body := p.post("/approvals/"+done.Run+"/call_1", form); status != http.StatusBadRequest || !strings.Contains(body, "cannot show") {
		t.Errorf("%d %s", status, body)
	}
	form.Set("args", area(t, body))
	if status, _ := p.post("/approvals/"+done.Run+"/call_1", form); status != http.StatusOK {
		t.Errorf("the unchanged call: %d", status)
	}
	if _, err := agent.Last(payer(t, store, script, &paid).Resume(t.Context(), done.Run)); err != nil || !slices.Equal(paid, []string{"a\u202eb"}) {
		t.Errorf("paid %q, %v", paid, err)
	}
}

// TestOtherOriginsAreRefused holds for every page: a page of another site, or a name that leads to this machine, gets
// nothing and changes nothing.
func TestOtherOriginsAreRefused(t *testing.T) {
	store, paid := new(memory), []string(nil)
	run := waitingRun(t, store, &paid)
	s := serve(t, &console.Console{Store: store})
	p := login(t, s.URL, operatorToken)
	cookie := p.Jar.Cookies(mustURL(s.URL))
	try := func(method, path string, change func(*http.Request)) int {
		t.Helper()
		var body io.Reader
		if method == http.MethodPost {
			body = strings.NewReader(url.Values{"form": {p.form}, "decision": {"approve"}, "token": {adminToken}}.Encode())
		}
		req, _ := http.NewRequest(method, s.URL+path, body)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range cookie {
			req.AddCookie(c)
		}
		change(req)
		resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		status, _ := read(t, resp)
		return status
	}
	paths := []string{"/", "/runs/" + run, "/approvals", "/explain", "/login", "/compare", "/models"}
	for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "169.254.169.254", "10.0.0.1:8232", "[::2]", "localhost@evil.example", "0.0.0.0"} {
		for _, path := range paths {
			if status := try(http.MethodGet, path, func(r *http.Request) { r.Host = host }); status != http.StatusMisdirectedRequest {
				t.Errorf("GET %s of host %s: %d", path, host, status)
			}
		}
	}
	for _, origin := range []string{"", "null", "http://evil.example", "https://" + mustURL(s.URL).Host + ".evil.example", "http://localhost:1", "file://", "http://127.0.0.1"} {
		for _, path := range []string{"/approvals/" + run + "/call_1", "/login", "/logout", "/explain", "/gateway/keys"} {
			status := try(http.MethodPost, path, func(r *http.Request) { r.Header.Set("Origin", origin) })
			if status != http.StatusForbidden {
				t.Errorf("POST %s from %q: %d", path, origin, status)
			}
		}
	}
	for _, site := range []string{"cross-site", "same-site", "none"} {
		if status := try(http.MethodPost, "/explain", func(r *http.Request) {
			r.Header.Set("Origin", s.URL)
			r.Header.Set("Sec-Fetch-Site", site)
		}); status != http.StatusForbidden {
			t.Errorf("Sec-Fetch-Site %s: %d", site, status)
		}
	}
	if waiting, err := agent.Waiting(t.Context(), store, run); err != nil || len(waiting) != 1 {
		t.Errorf("%d calls wait, %v", len(waiting), err)
	}
}

func mustURL(s string) *url.URL { u, _ := url.Parse(s); return u }

// TestNobodySeesAPageWithoutALogin holds for every page and for cookies that are not of a session.
func TestNobodySeesAPageWithoutALogin(t *testing.T) {
	store := new(memory)
	s := serve(t, &console.Console{Store: store})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"/", "/runs/x", "/runs/x/live?after=0", "/runs/x/text/1", "/runs/x/script", "/runs/x/case", "/compare", "/approvals", "/explain", "/models", "/gateway", "/gateway/keys", "/nothing"} {
		for _, cookie := range []string{"", "x", strings.Repeat("a", 5000)} {
			req, _ := http.NewRequest(http.MethodGet, s.URL+path, nil)
			if cookie != "" {
				req.AddCookie(&http.Cookie{Name: "toolpost_console", Value: cookie})
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if status, body := read(t, resp); status != http.StatusSeeOther || strings.Contains(body, "main") {
				t.Errorf("%s: %d", path, status)
			}
		}
	}
	for _, token := range []string{"", "x", viewerToken[:len(viewerToken)-1], viewerToken + "x", strings.ToUpper(viewerToken)} {
		resp, err := http.DefaultClient.Do(mustPost(s.URL+"/login", s.URL, url.Values{"token": {token}}))
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := read(t, resp); status != http.StatusUnauthorized {
			t.Errorf("token %q: %d", token, status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	client.CloseIdleConnections()
}

func mustPost(address, origin string, form url.Values) *http.Request {
	req, _ := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", origin)
	return req
}

// hostile are texts that a page must show as text.
var hostile = []string{
	`<script>window.broken=1</script>`, `"><img src=x onerror=window.broken=1>`, `' onmouseover='window.broken=1`, "</textarea><script>window.broken=1</script>",
	"\x1b[2J\x1b[31mred", "user\u202Etxt.exe", "a\u2066b\u2069c", "<!--", "]]>", "&lt;script&gt;", "javascript:window.broken=1", "</title><script>window.broken=1</script>", "data: x\n\nevent: end\n\n", "\u2028\u2029",
}

// TestTextOfModelsAndToolsIsText puts hostile text into every field that a model, a tool or a client can fill.
func TestTextOfModelsAndToolsIsText(t *testing.T) {
	for i, text := range hostile {
		store := new(memory)
		run := fmt.Sprintf("run-%d", i)
		rec, err := journal.Open(t.Context(), store, run)
		if err != nil {
			t.Fatal(err)
		}
		args, _ := json.Marshal(map[string]string{text: text})
		result := llm.Result{CallID: text, Name: text, Parts: []llm.Part{llm.Text{Text: text}}}
		bodies := []struct {
			kind journal.Kind
			body any
		}{
			{journal.KindStart, journal.Start{Task: text, Model: text, Team: text, Route: text, Parent: text, Lane: text, PolicyID: text}},
			{journal.KindAnswer, journal.Answer{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Thinking{Text: text}, llm.Text{Text: text}, llm.Call{ID: text, Name: text, Args: args, Provenance: llm.Provenance{Dialect: text, Repairs: []llm.Repair{{Rule: text}}}}}},
				Invalid: []llm.InvalidCall{{Name: text, Raw: text, Problem: text}}, Warnings: []llm.Warning{{Detail: text}}, Error: &journal.AnswerError{Message: text}, Finish: &llm.Finish{Reason: llm.Reason(text)}}},
			{journal.KindQuestion, journal.QuestionRecord{Call: text, Tool: text, Args: args, Reason: text, Message: text, Runs: text, Changed: text}},
			{journal.KindApproval, journal.Approval{Call: "other", Tool: text, By: text, Reason: text, Scope: text}},
			{journal.KindReceipt, journal.Receipt{Call: "c", Tool: text, Args: args, Status: journal.Failed, Reason: text, Error: &journal.Failure{Message: text}}},
			{journal.KindReceipt, journal.Receipt{Call: "d", Tool: text, Args: args, Status: journal.OK, Result: &result, SideEffects: []journal.SideEffect{{Type: text, Path: text}}}},
			{journal.KindVerification, journal.Verification{Command: text}},
			{journal.Kind("other.kind"), map[string]string{"x": text}},
			{journal.KindEnd, journal.End{Status: text, Summary: text}},
		}
		for _, b := range bodies {
			if _, err := rec.Write(t.Context(), b.kind, b.body); err != nil {
				t.Fatalf("%q %s: %v", text, b.kind, err)
			}
		}
		rec.Close(t.Context())
		s := serve(t, &console.Console{Store: store})
		p := login(t, s.URL, operatorToken)
		for _, path := range []string{"/", "/?q=" + url.QueryEscape(text), "/?model=" + url.QueryEscape(text), "/runs/" + run, "/approvals", "/compare?a=" + run + "&b=" + run, "/models?id=" + url.QueryEscape(text), "/runs/" + url.PathEscape(text), "/" + url.PathEscape(text)} {
			_, body := p.get(path)
			checkIsText(t, path, text, body)
		}
		for _, name := range []string{"text", "tools", "dialect"} {
			_, body := p.post("/explain", url.Values{name: {text}})
			checkIsText(t, "/explain "+name, text, body)
		}
	}
}

// checkIsText fails if a text is in a page as it is, although it means something there.
func checkIsText(t *testing.T, path, text, body string) {
	t.Helper()
	if strings.ContainsAny(text, "<>\x1b\u202e\u2066\u2028\u2029") && strings.Contains(body, text) {
		t.Errorf("%s has %q unescaped", path, text)
	}
	for _, bad := range []string{"<script>", "<img", "\x1b", "\u202e", "\u2066", "\u2028"} {
		if at := strings.Index(body, bad); at >= 0 {
			t.Errorf("%s with %q has %q: …%s", path, text, bad, body[max(0, at-80):min(len(body), at+80)])
		}
	}
}

// TestLiveRunGrowsOnThePage reads the events of a run while it is recorded.
func TestLiveRunGrowsOnThePage(t *testing.T) {
	store := new(memory)
	rec, err := journal.Open(t.Context(), store, "live")
	if err != nil {
		t.Fatal(err)
	}
	write := func(kind journal.Kind, v any) {
		t.Helper()
		if _, err := rec.Write(t.Context(), kind, v); err != nil {
			t.Fatal(err)
		}
	}
	write(journal.KindStart, journal.Start{Task: "count"})
	s := serve(t, &console.Console{Store: store})
	p := login(t, s.URL, viewerToken)
	if _, body := p.get("/runs/live"); !strings.Contains(body, `data-live="/runs/live/live?after=1"`) {
		t.Fatalf("the page is not live: %s", body)
	}
	resp, err := p.Get(s.URL + "/runs/live/live?after=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	write(journal.KindVerification, journal.Verification{Command: "go test\n./..."})
	if _, err := rec.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	var events []string
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			events = append(events, name)
		}
	}
	if want := []string{"entry", "entry", "end"}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
}

// TestPageReportsAChangedRecord changes a word of a run.
func TestPageReportsAChangedRecord(t *testing.T) {
	dir, err := journal.OpenDir(t.TempDir() + "/runs")
	if err != nil {
		t.Fatal(err)
	}
	demo, err := os.ReadFile("../docs/examples/demo.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"demo": string(demo), "changed": strings.Replace(string(demo), "Helo, world", "Hello, world", 1)} {
		if err := os.WriteFile(dir.File(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, &console.Console{Store: dir})
	p := login(t, s.URL, viewerToken)
	if _, body := p.get("/runs/demo"); !strings.Contains(body, "✓ verified: 13 entries, sealed, head 2cd84198ac04") {
		t.Errorf("the run is not verified: %s", body)
	}
	if _, body := p.get("/runs/changed"); !strings.Contains(body, "✗") || !strings.Contains(body, "entry 4") {
		t.Errorf("the changed entry is not reported: %s", body)
	}
	if _, body := p.get("/"); strings.Count(body, "s-unreadable") != 1 || strings.Count(body, "s-success") != 1 {
		t.Errorf("the list must tell the broken run from the other: %s", body)
	}
	if status, _ := p.get("/runs/none"); status != http.StatusNotFound {
		t.Errorf("an unknown run: %d", status)
	}
}
