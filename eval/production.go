package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Production is what the records of ordinary runs say about a model. Without expectations, only facts are counted:
// whether an answer was right is not among them.
type Production struct {
	Model   string `json:"model"`
	Runs    int    `json:"runs"`
	Answers int    `json:"answers"`
	// Broken are the answers that ended with an error.
	Broken Interval `json:"broken"`
	// Calls are those of the answers; Invalid were cut off, unreadable or not offered.
	Calls   int      `json:"calls"`
	Invalid Interval `json:"invalid"`
	// Repaired are the calls with an edit, by the class of the edit.
	Repaired map[llm.RepairClass]int `json:"repaired,omitempty"`
	// Ran, Failed and Refused are the calls whose tool succeeded, failed, or did not run.
	Ran      int                     `json:"ran"`
	Failed   int                     `json:"failed"`
	Refused  int                     `json:"refused"`
	Warnings map[llm.WarningCode]int `json:"warnings,omitempty"`
	Usage    llm.Usage               `json:"usage"`
	Latency  [2]int64                `json:"latency_ms"` // median and 95th percentile
}

// FromRuns counts the records of ordinary runs, by model. Runs of evaluations are left out.
func FromRuns(ctx context.Context, store journal.Store, runs []string) ([]Production, error) {
	models := make(map[string]*production)
	for _, run := range runs {
		if err := countRun(ctx, store, run, models); err != nil {
			return nil, fmt.Errorf("eval: %s: %w", run, err)
		}
	}
	var out []Production
	for _, id := range slices.Sorted(maps.Keys(models)) {
		p := models[id]
		p.Broken, p.Invalid = Wilson(p.broken, p.Answers), Wilson(p.invalid, p.Calls)
		p.Latency = [2]int64{int64(percentile(p.latency, 0.5)), int64(percentile(p.latency, 0.95))}
		out = append(out, p.Production)
	}
	return out, nil
}

type production struct {
	Production
	broken, invalid int
	latency         []float64
}

func countRun(ctx context.Context, store journal.Store, run string, models map[string]*production) error {
	var start journal.Start
	var p *production
	of := func(id string) *production {
		if models[id] == nil {
			models[id] = &production{Production: Production{Model: id, Repaired: make(map[llm.RepairClass]int), Warnings: make(map[llm.WarningCode]int)}}
		}
		if p != models[id] {
			p = models[id]
			p.Runs++
		}
		return p
	}
	for e, err := range journal.Whole(store.Read(ctx, run, 1)) {
		if err != nil {
			return err
		}
		switch e.Kind {
		case KindPlan:
			return nil
		case journal.KindStart:
			if err := json.Unmarshal(e.Body, &start); err != nil {
				return err
			}
		case journal.KindAnswer:
			var a journal.Answer
			if err := json.Unmarshal(e.Body, &a); err != nil {
				return err
			}
			of(start.Model).answer(&a)
		case journal.KindReceipt, journal.KindRefusal:
			var r journal.Receipt
			if err := json.Unmarshal(e.Body, &r); err != nil {
				return err
			}
			of(start.Model).call(&r, e.Kind)
		}
	}
	return nil
}

func (p *production) answer(a *journal.Answer) {
	p.Answers++
	if a.Error != nil {
		p.broken++
	}
	calls := a.Message.Calls()
	p.Calls += len(calls) + len(a.Invalid)
	p.invalid += len(a.Invalid)
	for _, c := range calls {
		if worst := c.Provenance.Worst(); len(c.Provenance.Repairs) > 0 {
			p.Repaired[worst]++
		}
	}
	for _, w := range a.Warnings {
		p.Warnings[w.Code]++
	}
	if a.Finish != nil {
		p.Usage = p.Usage.Add(a.Finish.Usage)
	}
	p.latency = append(p.latency, float64(a.LatencyMS))
}

func (p *production) call(r *journal.Receipt, kind journal.Kind) {
	switch {
	case kind == journal.KindRefusal:
		p.Refused++
	case r.Status == journal.OK:
		p.Ran++
	default:
		p.Failed++
	}
}

// Capture returns a recorded run as a case of a suite, as a line of JSON: its task, its tools and their results, and the
// calls that ran. A person reviews what it expects.
func Capture(ctx context.Context, store journal.Store, run string) ([]byte, error) {
	c, err := capture(ctx, store, run)
	switch {
	case err != nil:
		return nil, err
	case len(c.Expect.Calls) == 0 && c.text == "":
		return nil, fmt.Errorf("eval: %s has no answer", run)
	case len(c.Expect.Calls) == 0:
		c.Expect.NoCall = true
	}
	line, err := json.Marshal(c)
	return append(line, '\n'), err
}

// capture reads a recorded run as a case.
func capture(ctx context.Context, store journal.Store, run string) (*captured, error) {
	c := captured{ID: run, Results: make(map[string]any)}
	for e, err := range journal.Whole(store.Read(ctx, run, 1)) {
		if err == nil {
			err = c.entry(e)
		}
		if err != nil {
			return nil, fmt.Errorf("eval: %s: %w", run, err)
		}
	}
	if len(c.Messages) == 0 {
		return nil, fmt.Errorf("eval: %s has no question to a model", run)
	}
	return &c, nil
}

// captured is a case in the form of a suite of JSON lines.
type captured struct {
	ID       string         `json:"id"`
	System   string         `json:"system,omitempty"`
	Messages []messageFile  `json:"messages"`
	Tools    []any          `json:"tools,omitempty"`
	Results  map[string]any `json:"results,omitempty"`
	Expect   struct {
		Calls  []map[string]json.RawMessage `json:"calls,omitempty"`
		NoCall bool                         `json:"no_call,omitempty"`
	} `json:"expect"`

	text string
}

func (c *captured) entry(e journal.Entry) error {
	switch e.Kind {
	case journal.KindRequest:
		if len(c.Messages) > 0 {
			return nil // the first question holds the task
		}
		return c.question(e.Body)
	case journal.KindAnswer:
		var a journal.Answer
		if err := json.Unmarshal(e.Body, &a); err != nil {
			return err
		}
		c.text = a.Message.Text()
	case journal.KindReceipt:
		var r journal.Receipt
		if err := json.Unmarshal(e.Body, &r); err != nil {
			return err
		}
		c.Expect.Calls = append(c.Expect.Calls, map[string]json.RawMessage{r.Tool: r.Args})
		if r.Result != nil {
			c.result(r.Tool, *r.Result)
		}
	}
	return nil
}

func (c *captured) result(name string, r llm.Result) {
	if _, before := c.Results[name]; before {
		return // a case has one result per tool: the first
	}
	if r.Failed {
		c.Results[name] = map[string]string{"error": r.Text()}
		return
	}
	c.Results[name] = r.Text()
}

func (c *captured) question(body json.RawMessage) error {
	var r struct {
		Messages []llm.Message `json:"messages"`
		Tools    []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"schema"`
		} `json:"tools"`
		Settings struct {
			System string `json:"system"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	c.System = r.Settings.System
	for _, m := range r.Messages {
		if text := m.Text(); text != "" {
			c.Messages = append(c.Messages, messageFile{Role: string(m.Role), Text: text})
		}
	}
	for _, d := range r.Tools {
		t := map[string]any{"name": d.Name, "description": d.Description}
		if len(d.Schema) > 0 {
			t["parameters"] = d.Schema
		}
		c.Tools = append(c.Tools, t)
	}
	return nil
}
