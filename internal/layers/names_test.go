package layers

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/apicheck"
)

// shared are the names of types that several public packages use, with the
// reason why they are not confused. Every other name has one meaning.
var shared = map[string]string{
	"Answer":     "an answer to a question: whether a model can do something, what a model said, and how a codec is told what a model says",
	"Breaker":    "the same circuit breaker, of tools and of models",
	"Checked":    "that arguments match their schema: the result of the check, and the event that says so",
	"Error":      "what goes wrong between packages: with a model, and with a tool",
	"Fault":      "what a check found wrong: with an entry, and with a value",
	"Head":       "what stands first: of a stream, of a message in a dialect, and the latest entry of a run",
	"Kind":       "what sort of entry, and what sort of error",
	"Loss":       "what a conversion could not keep: of a schema, and of an operation",
	"Model":      "a language model: what is known of it, what can be asked, and one at a vendor",
	"Options":    "the settings of the package's one function",
	"Progress":   "how far a tool has come, and the event that says so",
	"Request":    "what a model is asked, and its record",
	"SideEffect": "a change that a tool made, and its record",
	"Span":       "from where to where: in a text, and in time",
	"Start":      "the first element: of a stream, and of a record",
	"Status":     "how something ended: a call, and a run",
	"Step":       "a step of a run, recorded and observed",
	"Text":       "text: a part of a message, and a form of dialects",
	"Turn":       "one question to a model and what follows from it: the event, and what an observer sees",
	"Vendor":     "who serves models, with all that is known, and as a name for schema rules",
}

// types returns the exported types of the public packages, each with the packages
// that define it. An alias of the same name is no other type.
func types(t *testing.T) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	for _, p := range list(t) {
		name, ok := local(p.ImportPath)
		if !ok || strings.HasPrefix(name, "cmd/") || slices.Contains(strings.Split(name, "/"), "internal") {
			continue
		}
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				for _, typ := range exported(d) {
					out[typ] = append(out[typ], name)
				}
			}
		}
	}
	return out
}

// exported returns the names of the types that a declaration exports.
func exported(d ast.Decl) (names []string) {
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return nil
	}
	for _, s := range g.Specs {
		typ, ok := s.(*ast.TypeSpec)
		if !ok || !typ.Name.IsExported() {
			continue
		}
		if of, ok := typ.Type.(*ast.SelectorExpr); ok && typ.Assign.IsValid() && of.Sel.Name == typ.Name.Name {
			continue
		}
		names = append(names, typ.Name.Name)
	}
	return names
}

// The name of an exported type has one meaning across all packages.
func TestImportedTypeNamesHaveOneMeaning(t *testing.T) {
	all := types(t)
	if len(all) < 100 || len(all["Runner"]) != 1 {
		t.Fatalf("found only %d types", len(all))
	}
	for name, in := range all {
		if len(in) > 1 && shared[name] == "" {
			t.Errorf("%s is a type of %s: rename what is meant otherwise, or say in this file why nobody takes one for the other", name, strings.Join(in, " and of "))
		}
	}
	for name := range shared {
		if len(all[name]) < 2 {
			t.Errorf("%s is a type of %q only: take it off the list", name, all[name])
		}
	}
}

// words are parts of names that have been used for several things, each with
// its one meaning and all exported names that contain it.
var words = map[string]struct{ meaning, names string }{
	"again": {"nothing: another attempt is a retry, and a call of unknown outcome that is made once more a repeat", ""},
	"budget": {"how much may be used up before something ends", `
		agent.Agent.RetryBudget agent.BudgetError eval.ErrBudget invoke.Budget invoke.Runner.Budget llm.NewRetryBudget llm.Request.RetryBudget llm.RetryBudget`},
	"outcome": {"how a call ended", `
		invoke.Outcome journal.KindOutcome journal.OutcomeRecord journal.UnknownOutcomeError`},
	"plan": {"what is to be done, and in which order", `
		eval.Evaluator.Plan eval.KindPlan eval.ReadPlan eval.Summary.Plan invoke.Planned journal.KindPlan journal.SessionPlan
		journal.SessionPlan.Plan journal.SessionPlan.PlanHash`},
	"question": {"what a person is asked", `
		invoke.Question invoke.QuestionOf journal.KindQuestion journal.QuestionRecord`},
	"repair": {"an edit with which the text of a call can be read, or its arguments are valid", `
		eval.ModelSummary.Repairs eval.Production.Repaired invoke.Checked.Repairs journal.KindRepair journal.OutcomeRecord.Repairs
		journal.Receipt.Repairs journal.RepairRecord journal.RepairRecord.Repairs llm.Provenance.Repairs llm.Repair llm.RepairClass
		llm.Repaired observe.ToolCall.Repairs`},
	"retry": {"another attempt after one that failed", `
		agent.Agent.RetryBudget agent.Retry eval.ModelSummary.Retries eval.Trial.Retries invoke.ToolRetry llm.Error.RetryAfter llm.NewRetryBudget llm.Request.RetryBudget
		llm.RetryBudget observe.ModelCall.Retries observe.Retry observe.ToolCall.Retries provider.Client.Retry provider.RequestRetry
		provider.RetryPolicy refine.AnswerRetry refine.Defect.RetryCause refine.Retrier refine.Retry refine.RetryReason
		tool.Error.RetryAfter tool.Error.ShouldRetry`},
}

// forms are the words of [words] in other forms.
var forms = map[string]string{
	"budgets": "budget", "outcomes": "outcome", "plans": "plan", "planned": "plan", "questions": "question", "repairs": "repair", "repaired": "repair",
	"retries": "retry", "retrier": "retry", "retrying": "retry",
}

// A word that once had several meanings has one in all exported names.
func TestWordsOfNamesHaveOneMeaning(t *testing.T) {
	lines, err := apicheck.Surface("../..")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]string)
	for _, line := range lines {
		name := exportedName(line)
		for _, part := range camel.FindAllString(name[strings.LastIndexByte(name, '.')+1:], -1) {
			part = strings.ToLower(part)
			if w := cmp.Or(forms[part], part); words[w].meaning != "" {
				found[w] = append(found[w], name)
			}
		}
	}
	for w, allowed := range words {
		names := slices.Compact(slices.Sorted(slices.Values(found[w])))
		listed := strings.Fields(allowed.names)
		for _, n := range names {
			if !slices.Contains(listed, n) {
				t.Errorf("%s: the word %q means %s. List the name in this file if it means this; if not, take another word", n, w, allowed.meaning)
			}
		}
		for _, n := range listed {
			if !slices.Contains(names, n) {
				t.Errorf("there is no %s: take it off the list of %q", n, w)
			}
		}
	}
}

var camel = regexp.MustCompile(`[A-Z][a-z0-9]*`)

// exportedName returns the name that a line of api/current.txt is about, with its package
// and, for a field or method, its type.
func exportedName(line string) string {
	pkg, rest, _ := strings.Cut(strings.TrimPrefix(line, "pkg "), ", ")
	kind, rest, _ := strings.Cut(rest, " ")
	if kind == "method" {
		recv, rest, _ := strings.Cut(rest, ") ")
		typ, _, _ := strings.Cut(strings.Trim(recv, "(*"), "[")
		name, _, _ := strings.Cut(rest, "(")
		return pkg + "." + typ + "." + name
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return strings.ContainsRune(" ([", r) })
	if end < 0 {
		end = len(rest)
	}
	name := pkg + "." + rest[:end]
	if _, member, ok := strings.Cut(rest, " struct, "); ok && !strings.HasPrefix(member, "embedded ") {
		field, _, _ := strings.Cut(member, " ")
		return name + "." + field
	}
	if _, member, ok := strings.Cut(rest, " interface, "); ok {
		method, _, _ := strings.Cut(member, "(")
		return name + "." + method
	}
	return name
}
