package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// AuditReport is the result of the audit of a definition.
type AuditReport struct {
	Tool string `json:"tool"`
	// Score is the share of five questions that the definition answers. Is
	// there an example? How does the tool behave at the limits? What does input
	// look like? When is it the wrong tool? Is each parameter unmistakable? The
	// definition is judged as a whole: schema, formats, bounds, examples,
	// descriptions of parameters.
	Score float64 `json:"score"`
	// Keywords is the share of the same questions that the description answers
	// for a checker that looks for words like "example" and "note:" in it.
	Keywords float64 `json:"keywords"`
	// Tokens is the estimated cost of the definition in every request, and
	// Vendors its cost in the form for each vendor.
	Tokens   int            `json:"tokens"`
	Vendors  map[string]int `json:"vendors,omitempty"`
	Findings []Finding      `json:"findings,omitempty"`
}

// Finding is a problem of a definition for a model or a vendor.
type Finding struct {
	Rule      string `json:"rule"`                // stable name, like "no-example"
	Parameter string `json:"parameter,omitempty"` // concerned; empty means the tool itself
	Problem   string `json:"problem"`
	Fix       string `json:"fix"`
}

// Audit reads definitions like a model without other knowledge, and reports on
// each, in order. It does not judge whether they are true.
func Audit(defs []llm.ToolDef) []AuditReport { return auditAll(defs, nil) }

// Audit audits the tools of the set, with their declared effects.
func (s *Set) Audit() []AuditReport {
	effects := make([]Effects, 0, s.Len())
	for t := range s.All() {
		effects = append(effects, t.Effects)
	}
	return auditAll(s.Defs(), effects)
}

func auditAll(defs []llm.ToolDef, effects []Effects) []AuditReport {
	reports := make([]AuditReport, len(defs))
	audits := make([]*audit, len(defs))
	for i, d := range defs {
		audits[i] = &audit{def: d, params: parameters(d.Schema), sentences: sentences(d.Description)}
		if effects != nil {
			audits[i].effects = effects[i]
		}
	}
	compare(audits)
	for i, a := range audits {
		reports[i] = a.run()
	}
	return reports
}

func (r *AuditReport) add(rule, parameter, problem, fix string) {
	r.Findings = append(r.Findings, Finding{rule, parameter, problem, fix})
}

// audit is the state of the audit of one definition.
type audit struct {
	def       llm.ToolDef
	effects   Effects
	params    []parameter
	sentences []string
	others    []Finding // from the comparison with its neighbours
	alike     bool      // a neighbour is described in nearly the same words
	refers    bool      // it names a neighbour
}

func (a *audit) run() AuditReport {
	r := AuditReport{Tool: a.def.Name, Tokens: llm.EstimateTool(a.def), Keywords: keywordScore(a.def, a.params)}
	answered := 0
	for _, q := range questions {
		if q.answered(a) {
			answered++
		} else {
			r.add(q.rule, "", q.problem, q.fix)
		}
	}
	if a.def.Description != "" || len(a.params) > 0 { // an empty definition answers no question
		r.Score = float64(answered) / float64(len(questions))
	}
	a.wording(&r)
	a.instructs(&r)
	a.declares(&r)
	a.parameters(&r)
	r.Findings = append(r.Findings, a.others...)
	a.schema(&r)
	return r
}

// schema reports schemas that cannot be used at all, keywords that a vendor
// does not enforce, and the cost of the definition there.
func (a *audit) schema(r *AuditReport) {
	if len(a.def.Schema) == 0 {
		return
	}
	if _, err := schema.Compile(a.def.Schema); err != nil {
		r.add("broken-schema", "", err.Error(), "Mend it; no call can be validated as it is.")
		return
	}
	r.Vendors = make(map[string]int)
	lost := make(map[string][]string) // place and keyword → vendors
	var order []schema.Loss
	for _, v := range schema.Vendors() {
		n, err := schema.Narrow(a.def.Schema, v, false)
		if err != nil {
			r.add("vendor-loss", "", fmt.Sprintf("it cannot be written for %s: %v", v, err), "Make it simpler.")
			continue
		}
		sent := a.def
		sent.Schema = json.RawMessage(n.Schema)
		r.Vendors[string(v)] = llm.EstimateTool(sent)
		for _, l := range n.Losses {
			key := l.Path + " " + l.Keyword
			if lost[key] == nil {
				order = append(order, l)
			}
			lost[key] = append(lost[key], string(v))
		}
	}
	for _, l := range order {
		r.add("vendor-loss", strings.TrimPrefix(l.Path, "/properties/"),
			fmt.Sprintf("%s does not hold a model to %q", strings.Join(lost[l.Path+" "+l.Keyword], " or "), l.Keyword),
			"Calls are validated here all the same. If models break it often, say it in words.")
	}
}

// sentences splits a text where a sentence ends.
func sentences(text string) []string {
	var out []string
	begin := 0
	for i := range len(text) {
		ends := strings.IndexByte(".!?\n", text[i]) >= 0 && (i+1 == len(text) || strings.IndexByte(" \n\t\")", text[i+1]) >= 0)
		if !ends && text[i] != '\n' {
			continue
		}
		if s := strings.TrimSpace(text[begin : i+1]); len(s) > 1 {
			out = append(out, s)
		}
		begin = i + 1
	}
	if s := strings.TrimSpace(text[begin:]); len(s) > 1 {
		out = append(out, s)
	}
	return slices.Clip(out)
}
