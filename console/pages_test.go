package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/console"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

// smallSuite has a case that a scripted model answers right, and one that it answers wrong.
const smallSuite = `suite: shop
tools:
  - {name: price, description: Returns the price of an article., parameters: {type: object, properties: {article: {type: string}}, required: [article]}}
cases:
  - {id: tea, task: What does tea cost?, expect: {calls: [{price: {article: tea}}]}}
  - {id: rice, task: What does rice cost?, expect: {calls: [{price: {article: rice}}]}}
`

// evaluated records an evaluation of two models: one is right twice, one is right once.
func evaluated(t *testing.T) *console.Evaluations {
	t.Helper()
	suite, err := new(eval.Loader).Parse("shop.yaml", []byte(smallSuite))
	if err != nil {
		t.Fatal(err)
	}
	store := new(memory)
	open := func(id string) (llm.Model, error) {
		return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			article := "tea"
			if id == "good/one" && strings.Contains(req.Messages[0].Text(), "rice") {
				article = "rice"
			}
			m, err := sim.ParseScript([]byte("-- 1 --\ncall price {\"article\": \"" + article + "\"}\n"))
			if err != nil {
				t.Error(err)
			}
			return m.Stream(ctx, req)
		}), nil
	}
	ev := &eval.Evaluator{Store: store, Models: []string{"good/one", "poor/one"}, Open: open}
	for _, label := range []string{"", "again"} {
		ev.Label = label
		if _, err := ev.Run(t.Context(), suite); err != nil {
			t.Fatal(err)
		}
	}
	return &console.Evaluations{Store: store, Suite: func(context.Context, string) (*eval.Suite, error) { return suite, nil }}
}

// TestEvaluationPages reads every page about evaluations.
func TestEvaluationPages(t *testing.T) {
	ev := evaluated(t)
	var runs []string
	for run, err := range ev.Store.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	profile := &eval.Profile{Probes: "p", Model: "good/one", At: time.Now(), Abilities: map[string]eval.Interval{"call": eval.Wilson(10, 10)}, Passed: map[string]map[string]bool{"call": {}}}
	worse := &eval.Profile{Probes: "p", Model: "good/one", At: time.Now(), Abilities: map[string]eval.Interval{"call": eval.Wilson(0, 10)}, Passed: map[string]map[string]bool{"call": {}}, Problems: map[string]string{}}
	for i := range 10 {
		name := fmt.Sprintf("probe %d", i)
		profile.Passed["call"][name], worse.Passed["call"][name], worse.Problems[name] = true, false, "no call was made"
	}
	for _, p := range []*eval.Profile{profile, worse} {
		if err := p.Keep(t.Context(), ev.Store); err != nil {
			t.Fatal(err)
		}
	}
	p := login(t, serve(t, &console.Console{Store: new(memory), Evaluations: ev}).URL, viewerToken)
	a, b := runs[len(runs)-2], runs[len(runs)-1]
	for _, c := range []struct {
		path string
		want []string
	}{
		{"/evaluations", []string{"shop", "good/one", "100.0 %", "50.0 %", "2 of 2, 100.0 %, 95 % interval 34–100 %"}},
		{"/evaluations/" + a, []string{"most right", "h-all", "h-no", "?case=rice", "Is poor/one better than good/one"}},
		{"/evaluations/" + a + "?show=failed", []string{"?case=rice", "Show all 2 cases"}},
		{"/evaluations/" + a + "?case=rice", []string{"What does rice cost?", "s-failed", "s-success", "tea"}},
		{"/evaluations/" + a + "?from=99999999", []string{"?case=rice"}},
		{"/evaluations/compare", []string{"Choose two evaluations"}},
		{"/evaluations/compare?a=" + a + "&model-a=good/one&b=" + b + "&model-b=poor/one", []string{"Only good/one is right: 1 case", "Only poor/one is right: 0 cases", "no difference can be shown"}},
		{"/evaluations/compare?a=" + a + "&model-a=none", []string{"no case in common"}},
		{"/evaluations/history?suite=shop", []string{"History of shop", "What changed since the one before"}},
		{"/evaluations/drift", []string{"1 ability changed", "no call was made", "100.0 %"}},
		{"/evaluations/labels", []string{"No run has a label"}},
	} {
		status, body := p.get(c.path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", c.path, status)
		}
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not have %q", c.path, want)
			}
		}
	}
	for path, want := range map[string]int{"/evaluations/none": 404, "/evaluations/eval-0": 404, "/evaluations/..%2fx": 404, "/evaluations/" + a + "?case=none": 404, "/evaluations/history?suite=none": 404,
		"/evaluations/drift?model=none": 404, "/evaluations/compare?a=eval-0": 404, "/evaluations/labels.jsonl": 404} {
		if status, _ := p.get(path); status != want {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
}

// TestPartsWithoutASourceAreHidden opens a console that has only runs.
func TestPartsWithoutASourceAreHidden(t *testing.T) {
	p := login(t, serve(t, &console.Console{Store: new(memory)}).URL, adminToken)
	_, body := p.get("/")
	for _, path := range []string{"/evaluations", "/tools", "/servers", "/gateway", "/evaluations/labels", "/evaluations/drift", "/evaluations/compare"} {
		if strings.Contains(body, `href="`+path+`"`) {
			t.Errorf("the navigation has %s", path)
		}
		if status, _ := p.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := p.post("/models", url.Values{"id": {"x/y"}}); status != http.StatusNotFound {
		t.Errorf("a probe without models: %d", status)
	}
}

// TestLabelsOfPeople labels a run, and reads the suite that it makes.
func TestLabelsOfPeople(t *testing.T) {
	store, paid := new(memory), []string(nil)
	run := waitingRun(t, store, &paid)
	ev := &console.Evaluations{Store: new(memory), Suite: func(context.Context, string) (*eval.Suite, error) { return nil, errors.New("no suite") }}
	s := serve(t, &console.Console{Store: store, Evaluations: ev})
	operator, viewer := login(t, s.URL, operatorToken), login(t, s.URL, viewerToken)
	path := "/runs/" + run + "/label"
	wrong := url.Values{"verdict": {"wrong"}, "why": {"the wrong invoice"}, "expect": {`{"calls": [{"pay": {"invoice": "2026-18"}}]}`}}
	for _, c := range []struct {
		name   string
		who    *person
		path   string
		form   url.Values
		status int
	}{
		{"by a viewer", viewer, path, wrong, 403},
		{"without a verdict", operator, path, url.Values{}, 400},
		{"with an unknown verdict", operator, path, url.Values{"verdict": {"maybe"}}, 400},
		{"with an expectation that is not JSON", operator, path, url.Values{"verdict": {"wrong"}, "expect": {"pay"}}, 400},
		{"with a tool that is not offered", operator, path, url.Values{"verdict": {"wrong"}, "expect": {`{"calls": [{"fly": {}}]}`}}, 400},
		{"with an unknown field", operator, path, url.Values{"verdict": {"wrong"}, "expect": {`{"exepct": true}`}}, 400},
		{"with a very long reason", operator, path, url.Values{"verdict": {"right"}, "why": {strings.Repeat("x", 5000)}}, 400},
		{"of an unknown run", operator, "/runs/20200101-000000-aaaaaaaa/label", wrong, 404},
		{"of a path", operator, "/runs/..%2fx/label", wrong, 404},
		{"wrong", operator, path, wrong, 200},
	} {
		form := url.Values{}
		for k, v := range c.form {
			form[k] = v
		}
		if status, body := c.who.post(c.path, form); status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, body)
		}
	}
	if _, body := viewer.get("/runs/" + run); !strings.Contains(body, "the wrong invoice") || !strings.Contains(body, "by otto") || strings.Contains(body, `name="verdict"`) {
		t.Error("a viewer must see the label, and no form")
	}
	if _, body := operator.get("/evaluations/labels"); !strings.Contains(body, run) || !strings.Contains(body, "the suite of 1 run") {
		t.Errorf("the label is not listed: %s", body)
	}
	_, text := operator.get("/evaluations/labels.jsonl")
	if suite, err := new(eval.Loader).Parse("labels.jsonl", []byte(text)); err != nil || len(suite.Cases) != 1 || !strings.Contains(text, "2026-18") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestReplayGoesForwardAndBack steps through a run alone and next to another.
func TestReplayGoesForwardAndBack(t *testing.T) {
	store, paid := new(memory), []string(nil)
	a := waitingRun(t, store, &paid)
	script := strings.Replace(payScript, "2026-17", "2026-99", 1)
	done, err := payer(t, store, script, &paid).Ask(t.Context(), llm.User("Pay the invoice"))
	if err != nil {
		t.Fatal(err)
	}
	p := login(t, serve(t, &console.Console{Store: store}).URL, viewerToken)
	path := "/runs/" + a + "/steps"
	for _, c := range []struct{ query, want, missing string }{
		{"", "Step 1 of ", `rel="prev"`},
		{"?step=2", "Step 2 of ", "no such step"},
		{"?step=0", "Step 1 of ", "no such step"},
		{"?step=-5", "Step 1 of ", "no such step"},
		{"?step=x", "Step 1 of ", "no such step"},
		{"?step=99999999", `rel="prev"`, `rel="next"`},
		{"?step=2&with=" + a, "took the same steps", "first difference"},
		{"?step=1&with=" + done.Run, "The first difference is step", "same steps"},
	} {
		status, body := p.get(path + c.query)
		if status != http.StatusOK || !strings.Contains(body, c.want) || strings.Contains(body, c.missing) {
			t.Errorf("%s: %d, want %q and not %q: %s", c.query, status, c.want, c.missing, body)
		}
	}
	_, body := p.get("/compare?a=" + a + "&b=" + done.Run)
	if !strings.Contains(body, "Step through both") {
		t.Error("a comparison does not lead to its steps")
	}
	if status, _ := p.get(path + "?with=none"); status != http.StatusNotFound {
		t.Errorf("with an unknown run: %d", status)
	}
}

// TestRunAsCurl reads the questions of a run as commands.
func TestRunAsCurl(t *testing.T) {
	store, paid := new(memory), []string(nil)
	run := waitingRun(t, store, &paid)
	p := login(t, serve(t, &console.Console{Store: store}).URL, viewerToken)
	status, text := p.get("/runs/" + run + "/curl")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	_, body, _ := strings.Cut(text, "<<'END-OF-QUESTION'\n")
	body, _, _ = strings.Cut(body, "\nEND-OF-QUESTION")
	var req struct {
		Messages []struct{ Role, Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil || len(req.Messages) != 1 || req.Messages[0].Content != "Pay the invoice" || len(req.Tools) != 1 || req.Tools[0].Function.Name != "pay" {
		t.Errorf("%v: %s", err, text)
	}
	hostile := "'; rm -rf / #\nEND-OF-QUESTION\n$(id) \u202e \U000e0041"
	done, err := payer(t, store, payScript, &paid).Ask(t.Context(), llm.User(hostile))
	if err != nil {
		t.Fatal(err)
	}
	_, text = p.get("/runs/" + done.Run + "/curl")
	if strings.Count(text, "\nEND-OF-QUESTION\n") != strings.Count(text, "<<'END-OF-QUESTION'") || strings.ContainsAny(text, "\u202e\U000e0041") {
		t.Errorf("a message leaves its place: %s", text)
	}
	_, body, _ = strings.Cut(text, "<<'END-OF-QUESTION'\n")
	body, _, _ = strings.Cut(body, "\nEND-OF-QUESTION\n")
	if err := json.Unmarshal([]byte(body), &req); err != nil || req.Messages[0].Content != hostile {
		t.Errorf("%v: %q", err, req.Messages)
	}
}

// TestEvidenceForAndAgainstACall reads answers whose calls differ in what speaks for them.
func TestEvidenceForAndAgainstACall(t *testing.T) {
	p := login(t, serve(t, &console.Console{Store: new(memory)}).URL, viewerToken)
	const tools = `[{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]`
	for _, c := range []struct{ text, want string }{
		{`<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`, "+ it begins with a marker of hermes_json"},
		{`<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`, "+ the tool get_weather is offered"},
		{`<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`, "+ the arguments match the schema"},
		{`<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`, "+ nothing had to be repaired"},
		{`<tool_call>{"name": "get_weather", "arguments": {"town": "Rome"}}</tool_call>`, "− the arguments do not match the schema"},
		{`{"name": "get_weather", "arguments": {"city": "Rome"}}`, "− it has no marker"},
	} {
		if _, body := p.post("/explain", url.Values{"text": {c.text}, "tools": {tools}}); !strings.Contains(body, c.want) {
			t.Errorf("%s: no %q in %s", c.text, c.want, body)
		}
	}
}

// withEverything has hostile text wherever a suite, a tool, a server or a model can write.
func withEverything(t *testing.T, text string, checked *[]string) *console.Console {
	t.Helper()
	ev := &console.Evaluations{Store: new(memory), Suite: func(context.Context, string) (*eval.Suite, error) {
		return &eval.Suite{Name: text, Cases: []eval.Case{{ID: text, Messages: []llm.Message{llm.User(text)}, Weight: 1, Expect: eval.Expect{SomeCall: true}}}}, nil
	}}
	rec, err := journal.Open(t.Context(), ev.Store, "eval-1")
	if err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{text: text})
	for _, b := range []struct {
		kind journal.Kind
		body any
	}{
		{eval.KindPlan, eval.Experiment{Suite: text, Cases: 1, Models: []string{text, "other"}, Repeat: 1, Label: text, Judge: text, Source: text}},
		{eval.KindTrial, eval.Trial{Case: text, Model: text, Repeat: 1, Text: text, Error: text, Calls: []llm.Call{{ID: "1", Name: text, Args: args}}, Invalid: []llm.InvalidCall{{Name: text, Problem: text}}}},
		{eval.KindTrial, eval.Trial{Case: text, Model: "other", Repeat: 1, Calls: []llm.Call{{ID: "1", Name: text, Args: args}}}},
	} {
		if _, err := rec.Write(t.Context(), b.kind, b.body); err != nil {
			t.Fatal(err)
		}
	}
	rec.Close(t.Context())
	for i := range 2 {
		p := &eval.Profile{Probes: "p", Model: text, At: time.Now(), Abilities: map[string]eval.Interval{text: eval.Wilson(10-10*i, 10)}, Passed: map[string]map[string]bool{text: {text: i == 0}}, Problems: map[string]string{text: text}}
		if err := p.Keep(t.Context(), ev.Store); err != nil {
			t.Fatal(err)
		}
	}
	l := eval.Label{Run: "labelled", Why: text, By: text, Expect: args}
	if err := l.Keep(t.Context(), ev.Store); err != nil {
		t.Fatal(err)
	}
	def := llm.ToolDef{Name: text, Description: text, Schema: args}
	return &console.Console{Store: new(memory), Evaluations: ev,
		Tools: func(context.Context) ([]llm.ToolDef, error) { return []llm.ToolDef{def}, nil },
		Servers: &console.MCPServers{
			List: func(context.Context) ([]console.MCPServer, error) {
				return []console.MCPServer{{Name: text, Kind: text, Where: text, State: text, Revision: text, Listed: true, Problem: text, Notices: []string{text}, Tools: []console.MCPTool{{ToolDef: def}}}}, nil
			},
			Check: func(_ context.Context, name string) error { *checked = append(*checked, name); return errors.New(text) },
		},
		Probe: func(_ context.Context, id string) (*provider.Probe, error) {
			*checked = append(*checked, id)
			return &provider.Probe{ID: text, Requests: 1, Findings: []provider.ProbeFinding{{Name: text, Answer: catalog.Yes, Because: text}}}, nil
		}}
}

// TestTextOfSuitesServersAndModelsIsText holds for every page that shows them, and for what a check or a probe returns.
func TestTextOfSuitesServersAndModelsIsText(t *testing.T) {
	for _, text := range hostile {
		var checked []string
		s := serve(t, withEverything(t, text, &checked))
		p := login(t, s.URL, operatorToken)
		q := url.QueryEscape(text)
		for _, path := range []string{"/evaluations", "/evaluations/eval-1", "/evaluations/eval-1?case=" + q, "/evaluations/eval-1?show=failed", "/evaluations/history?suite=" + q,
			"/evaluations/compare?a=eval-1&model-a=" + q + "&model-b=other", "/evaluations/drift", "/evaluations/drift?model=" + q, "/evaluations/labels", "/tools", "/tools?name=" + q, "/servers", "/models?id=" + q} {
			status, body := p.get(path)
			if status != http.StatusOK {
				t.Errorf("%s with %q: %d", path, text, status)
			}
			checkIsText(t, path, text, body)
		}
		for path, form := range map[string]url.Values{"/servers/" + url.PathEscape("x") + "/check": {}, "/models": {"id": {text}}} {
			_, body := p.post(path, form)
			checkIsText(t, path, text, body)
		}
		before := len(checked)
		if before == 0 {
			t.Errorf("%q: nothing was checked", text)
		}
		viewer := login(t, s.URL, viewerToken)
		for path, form := range map[string]url.Values{"/servers/x/check": {}, "/models": {"id": {"x"}}} {
			if status, _ := viewer.post(path, form); status != http.StatusForbidden || len(checked) != before {
				t.Errorf("a viewer at %s: %d", path, status)
			}
		}
	}
}

// TestPagesOfHugeTextsStaySmall shows 1 MB, or 10 MB in long tests, in one line of an answer, a result, a description and an answer of an evaluation.
func TestPagesOfHugeTextsStaySmall(t *testing.T) {
	size := 1 << 20
	if testkit.IsLong() {
		size = 10 << 20
	}
	huge := strings.Repeat("<i>", size/3)
	c := withEverything(t, "x", new([]string))
	rec, err := journal.Open(t.Context(), c.Evaluations.Store, "eval-2")
	if err != nil {
		t.Fatal(err)
	}
	plan := eval.Experiment{Suite: "x", Cases: 1, Models: []string{"m"}, Repeat: 1}
	if _, err := rec.Write(t.Context(), eval.KindPlan, plan); err != nil {
		t.Fatal(err)
	}
	if _, err := rec.Write(t.Context(), eval.KindTrial, eval.Trial{Case: "x", Model: "m", Repeat: 1, Text: huge}); err != nil {
		t.Fatal(err)
	}
	rec.Close(t.Context())
	if rec, err = journal.Open(t.Context(), c.Store, "big"); err != nil {
		t.Fatal(err)
	}
	answer := journal.Answer{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: huge}}}, Finish: &llm.Finish{Reason: llm.Stop}}
	if _, err := rec.Write(t.Context(), journal.KindAnswer, answer); err != nil {
		t.Fatal(err)
	}
	rec.Close(t.Context())
	c.Tools = func(context.Context) ([]llm.ToolDef, error) {
		return []llm.ToolDef{{Name: "big", Description: huge}}, nil
	}
	p := login(t, serve(t, c).URL, viewerToken)
	for _, path := range []string{"/", "/runs/big", "/runs/big/steps", "/compare?a=big&b=big", "/evaluations/eval-2?case=x", "/evaluations/compare?a=eval-2&b=eval-2", "/tools", "/tools?name=big"} {
		if status, body := p.get(path); status != http.StatusOK || len(body) > 300<<10 || strings.Contains(body, "<i>") {
			t.Errorf("%s: status %d, %d bytes", path, status, len(body))
		}
	}
}
