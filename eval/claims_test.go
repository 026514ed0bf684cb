package eval_test

import (
	"context"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

// claimSuite has cases with tools, with tools that return something, and with an answer by a schema.
func claimSuite(t *testing.T) *eval.Suite {
	t.Helper()
	var b strings.Builder
	b.WriteString("suite: claims\ntools:\n  - {name: get_weather, description: Returns the weather of a city., parameters: {type: object, properties: {city: {type: string}}, required: [city]}}\ncases:\n")
	for i, city := range strings.Fields("Rome Oslo Lima Cairo Kyoto Quito Berlin Madrid Dublin Vienna Paris Tokyo Bern Riga Delhi Seoul Hanoi Accra Dakar Tunis") {
		fmt.Fprintf(&b, "  - {id: tool %d, task: What is the weather in %s?, expect: {calls: [get_weather: {city: {$text: %s}}]}}\n", i, city, city)
		fmt.Fprintf(&b, "  - {id: result %d, task: What is the weather in %s?, results: {get_weather: sunny}, expect: {calls: [get_weather: {city: {$text: %s}}]}}\n", i, city, city)
		fmt.Fprintf(&b, "  - {id: form %d, task: \"city: %s\", tools: [], output: {type: object, properties: {city: {type: string}}, required: [city]}, expect: {answer: {properties: {city: {const: %s}}, required: [city]}}}\n", i, city, city)
	}
	s, err := new(eval.Loader).Parse("claims.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// careless forgets the arguments in some first answers, unless the schema is strict, and the fields of some structured ones.
type careless struct{}

func (careless) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		resp, err := llm.Generate(ctx, sim.Offline{}, req)
		if err != nil {
			yield(nil, err)
			return
		}
		question := ""
		for _, msg := range req.Messages {
			if msg.Role == llm.RoleUser {
				question = msg.Text()
				break
			}
		}
		strict := len(req.Tools) > 0 && req.Tools[0].Strict != nil && *req.Tools[0].Strict
		again := slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Role != llm.RoleUser }) || len(req.Messages) > 1
		forgets := strings.ContainsAny(question[len(question)-2:], "aeou") && !again
		for i, p := range resp.Message.Parts {
			switch p := p.(type) {
			case llm.Call:
				if forgets && !strict && p.Name == "get_weather" {
					p.Args = []byte(`{}`)
					resp.Message.Parts[i] = p
				}
			case llm.Text:
				switch {
				case req.Output != nil && forgets:
					resp.Message.Parts[i] = llm.Text{Text: `{"town":"x"}`}
				case req.Output != nil:
					resp.Message.Parts[i] = llm.Text{Text: fmt.Sprintf(`{"city":%q}`, strings.TrimPrefix(question, "city: "))}
				}
			}
		}
		for _, ev := range resp.Events() {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func measuredClaims(t *testing.T, s *eval.Suite, open func(string) (llm.Model, error), set func(eval.Setting) (llm.Model, error)) map[string][]eval.Claim {
	t.Helper()
	r := &eval.Evaluator{Store: new(journal.Memory), Models: []string{"tested"}, Parallel: 1, Open: open}
	list, err := r.Claims(t.Context(), s, set)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]eval.Claim)
	for _, c := range list {
		out[c.Name] = append(out[c.Name], c)
		if c.Skipped == "" && (c.Off.Low > c.Off.Share || c.On.High < c.On.Share || c.Measured.Low > c.Measured.Mean || c.Measured.High < c.Measured.Mean) {
			t.Errorf("%s: an interval without its figure: %+v", c.Name, c)
		}
	}
	return out
}

func TestClaimsAreMeasuredOnAModelThatForgetsArguments(t *testing.T) {
	m := careless{}
	got := measuredClaims(t, claimSuite(t), func(string) (llm.Model, error) { return m, nil },
		func(eval.Setting) (llm.Model, error) { return nil, fmt.Errorf("it has no settings") })
	loop, strict, form := got["validation loop"][0], got["strict schemas"], got["structured output"]
	if loop.Cases != 20 || loop.Off.Hits >= 12 || loop.On.Hits != 20 || loop.Result != eval.Holds || loop.Recovered.Hits != 20-loop.Off.Hits || loop.Tokens.Mean <= 0 {
		t.Errorf("validation loop: %+v", loop)
	}
	if strict[0].Cases != 40 || strict[0].Valid[1].Share != 1 || strict[0].Valid[0].Share > 0.8 || strict[0].Result == eval.Contrary || !strict[0].Change.Different() {
		t.Errorf("strict schemas: %+v", strict[0])
	}
	if strict[1].Measured.Mean != strict[0].Valid[0].Share {
		t.Errorf("calls without strict schemas: %+v", strict[1])
	}
	if c := got["concise results"][0]; c.Cases != 20 || c.Off != c.On || c.Off.Hits == 0 || c.Result != eval.Holds {
		t.Errorf("concise results: %+v", c)
	}
	if c := got["native calling"][0]; c.Skipped != "it has no settings" || c.Result != "" {
		t.Errorf("native calling: %+v", c)
	}
	if form[0].Cases != 20 || form[0].On.Hits != 20 || form[0].Off.Hits >= 12 || form[0].Result != eval.Contrary || form[1].Result != eval.Contrary || form[2].Result != eval.Undecided {
		t.Errorf("structured output: %+v", form)
	}
}

// TestClaimsOnFaultsOfTheSimulator cuts the first answers off, which only a loop repeats.
func TestClaimsOnFaultsOfTheSimulator(t *testing.T) {
	open := func(s eval.Setting) (llm.Model, error) {
		server := httptest.NewServer(&sim.Server{})
		t.Cleanup(server.Close)
		c := &provider.Client{HTTP: server.Client()}
		if s.Values["native_tools"] == "false" {
			c.Route = provider.Prompted
		}
		return c.Open("openai+" + server.URL + "/v1#sim/native+length+times=8")
	}
	got := measuredClaims(t, claimSuite(t), func(string) (llm.Model, error) { return open(eval.Setting{}) }, open)
	loop := got["validation loop"][0]
	if loop.Off.Hits != 12 || loop.On.Hits < 16 || loop.Recovered.Hits == 0 {
		t.Errorf("validation loop: %+v", loop)
	}
	if c := got["native calling"][0]; c.Skipped != "" || c.Cases != 40 || c.Change == nil {
		t.Errorf("native calling: %+v", c)
	}
	if c := got["structured output"][0]; c.Recovered.Hits == 0 || c.On.Hits <= c.Off.Hits {
		t.Errorf("structured output: %+v", c)
	}
}
