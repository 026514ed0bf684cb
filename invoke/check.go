package invoke

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/stripped"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// check takes a call through the steps before anything runs. It returns an
// error only if a refusal or an approval cannot be recorded; a call that may
// not run has its outcome afterwards.
func (d *batch) check(j *job) error {
	d.identify(j)
	d.observe(j)
	j.hash = journal.ParamsHash(j.args)
	steps := []func(*job) *tool.Error{d.lookup, d.reading, whole, d.validate}
	for _, step := range steps {
		if j.fail == nil {
			j.fail = step(j)
		}
	}
	if j.fail != nil {
		return d.reject(j, j.fail)
	}
	d.emit(Checked{j.call.ID, j.tool.Name, j.args, j.repairs})
	if e := d.guard(j); e != nil {
		return d.reject(j, e)
	}
	return d.authorise(j)
}

// identify gives the call an id, and notices an id that was used before: the record
// could not distinguish two calls with one id.
func (d *batch) identify(j *job) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case j.call.ID == "":
		j.call.ID = s.ids.Take("")
	case s.ids.Taken(j.call.ID):
		j.twice = true
		j.fail = tool.Errorf(tool.Validation, "a call with id %s was made before; it is not run again", j.call.ID)
		j.fail.Fix = "Read the result of the earlier call. If you mean another call, send it with an id of its own."
		s.ids.Use(j.call.ID)
	default:
		s.ids.Use(j.call.ID)
	}
	j.info = tool.Info{Call: j.call.ID, Turn: s.Turn, Key: j.call.ID}
	if s.rec != nil {
		j.info.Run = s.rec.Run()
	}
	j.attempt = s.failures[j.call.Name] + 1
}

// maxNames bounds the names in an answer to a call of an unknown tool.
const maxNames = 20

func (d *batch) lookup(j *job) *tool.Error {
	t, ok := d.s.tools().Lookup(j.call.Name)
	if ok {
		j.tool = t
		return nil
	}
	j.tool = tool.Tool{Name: j.call.Name}
	e := tool.Errorf(tool.Validation, "there is no tool %.80q", j.call.Name)
	names := d.s.tools().Names()
	near := d.s.tools().Nearest(j.call.Name)
	e.Fix = ""
	switch {
	case len(names) == 0:
		e.Fix = "There are no tools. Answer without one."
	case len(near) > 0:
		e.Fix = "Did you mean " + strings.Join(near, ", ") + "? Call a tool by exactly its name."
	}
	if len(names) > 0 && len(names) <= maxNames {
		e.Fix = strings.TrimSpace(e.Fix + " The tools are " + strings.Join(names, ", ") + ".")
	} else if len(near) == 0 && len(names) > 0 {
		e.Fix = fmt.Sprintf("Call a tool by exactly its name. Some of the %d tools are %s.", len(names), strings.Join(names[:maxNames], ", "))
	}
	return e
}

// reading enforces how doubtful a reading of the model's text may be for a tool
// with these effects.
func (d *batch) reading(j *job) *tool.Error {
	effects := j.tool.Effects
	from := j.call.Provenance
	j.repairs = slices.Clone(from.Repairs)
	switch worst := from.Worst(); {
	case worst > llm.Guess: // also an unknown class
		e := tool.Errorf(tool.Validation, "the call was cut off before it was complete")
		e.Fix = "Send the whole call again; if it is long, ask for less at once."
		return e
	case effects.Has(tool.ReadOnly): // looking at the wrong thing changes nothing
		return nil
	case slices.ContainsFunc(j.repairs, isExample):
		return guessed(j.call.Args, j.repairs[slices.IndexFunc(j.repairs, isExample)])
	case from.Doubtful():
		return doubted(j, from)
	case worst == llm.Completion && !effects.Has(tool.Idempotent):
		return malformed(j.repairs, "its end was missing, and the tool may change things")
	}
	return nil
}

// doubted asks whether the model means a doubtful call.
func doubted(j *job, from llm.Provenance) *tool.Error {
	doubt, _ := from.Doubt()
	if !doubt.Doubts() {
		return malformed(j.repairs, "it can be read in more than one way")
	}
	e := tool.Errorf(tool.Validation, "it is not clear that you want to call %s (%s), and the tool may change things", j.tool.Name, doubt.Rule)
	e.Fix = "Did you intend this call? If so, send it again without other text. If not, continue without it."
	return e
}

// malformed asks for a call again that had to be repaired.
func malformed(repairs []llm.Repair, doubt string) *tool.Error {
	e := tool.Errorf(tool.Validation, "the call was not well-formed (%s): %s", rules(repairs), doubt)
	e.Fix = "Send the same call again as one complete JSON object: every bracket closed, every quote inside a text escaped, every argument under its name."
	return e
}

func isExample(r llm.Repair) bool { return r.Rule == emulate.ExampleRule }

// guessed refuses a call with an example in the place of a value.
func guessed(args json.RawMessage, r llm.Repair) *tool.Error {
	value := ""
	if 0 <= r.Start && r.Start < r.End && r.End <= len(args) {
		value = fmt.Sprintf(" %.80s", args[r.Start:r.End])
	}
	e := tool.Errorf(tool.Validation, "the value%s is only an example in the description of the tool; nobody in the conversation has said it, and the tool may change things", value)
	e.Fix = "Send the call again with the value that was asked for. If nobody has said it, do not call the tool; ask the user."
	return e
}

// whole refuses arguments that hold the marker of a secret instead of the secret.
func whole(j *job) *tool.Error {
	mark := stripped.Mark(j.args)
	if mark == "" {
		return nil
	}
	e := tool.Errorf(tool.Validation, "the arguments hold %s, which stands in the place of a secret that was taken out; the call cannot be run with it", mark)
	e.Fix = "Send the call again with the real value. If you do not know it, ask the user for it, or do without."
	return e
}

// rules names repairs, once each.
func rules(repairs []llm.Repair) string {
	var names []string
	for _, r := range repairs {
		if !slices.Contains(names, r.Rule) {
			names = append(names, r.Rule)
		}
	}
	return strings.Join(names, ", ")
}

// validate checks the arguments against the tool's own schema, and converts
// values to the types that the schema demands.
func (d *batch) validate(j *job) *tool.Error {
	compiled := d.s.tools().Schema(j.call.Name)
	if !utf8.Valid(j.args) { // the record is, and would hold something else
		e := tool.Errorf(tool.Validation, "the arguments are not UTF-8")
		e.Fix = "Send the call again with whole characters in every text."
		return e
	}
	d.rounded(j)
	checked := compiled.Check(j.args)
	if d.s.runner.Exact && len(checked.Changes) > 0 {
		return invalid(compiled.Validate(j.args))
	}
	if len(checked.Changes) == 0 {
		j.args = checked.Args // {} for none: their hash is the same
	}
	if !checked.Valid() {
		return invalid(checked.Faults)
	}
	if len(checked.Changes) > 0 {
		j.args, j.hash = checked.Args, journal.ParamsHash(checked.Args)
		if d.rounded(j) { // a text that became a number
			if again := compiled.Check(j.args); !again.Valid() {
				return invalid(again.Faults)
			}
		}
	}
	for _, c := range checked.Changes {
		j.repairs = append(j.repairs, llm.Repair{Rule: string(c.Rule), Class: llm.Coercion})
		d.emit(llm.Warning{Code: llm.Repaired, Feature: j.call.Name + c.Path, Detail: fmt.Sprintf("%s: %s instead of %s", c.Rule, c.To, c.From)})
	}
	for _, name := range d.s.tools().Undeclared(j.call.Name, j.args) {
		d.emit(llm.Warning{Code: llm.Compatibility, Feature: j.call.Name + "/" + name, Detail: "the schema does not mention this argument, nor forbid it; it is passed on"})
	}
	return nil
}

// invalid turns faults into an error with one detail each.
func invalid(faults []schema.Fault) *tool.Error {
	e := tool.Errorf(tool.Validation, "%s", faults[0].Message)
	if len(faults) > 1 {
		e.Message = fmt.Sprintf("%s (and %d more)", faults[0].Message, len(faults)-1)
	}
	for _, f := range faults {
		e.Details = append(e.Details, tool.Detail{Field: f.Path, Problem: f.Message, Expected: f.Expected, Got: f.Received})
	}
	return e
}

// guard asks the loop guard, and refuses everything once the run is stopped.
func (d *batch) guard(j *job) *tool.Error {
	s := d.s
	s.mu.Lock()
	var v verdict
	stopped := s.stopped
	if stopped == "" {
		v, j.place = s.loop.next(j.tool.Name, j.hash)
	}
	if v.stop {
		s.stopped = v.reason
	}
	s.mu.Unlock()
	switch {
	case stopped != "":
		return stop("the run was stopped: " + stopped)
	case v.stop:
		d.emit(Stopped{v.reason})
		return stop(v.reason + ", and the run is stopped")
	case v.refuse:
		e := tool.Errorf(tool.Permission, "%s", v.reason)
		e.Recoverable, e.Strategy = true, tool.Rephrase
		e.Fix = "The result would be the same. Use what you have, change the arguments, or take another way. If you send it once more, the run ends."
		return e
	case v.reason != "":
		j.lesson = v.reason + ". Do not repeat it: use what you have, or take another way."
		d.emit(llm.Warning{Code: llm.Degraded, Feature: j.tool.Name, Detail: v.reason})
	}
	return nil
}
