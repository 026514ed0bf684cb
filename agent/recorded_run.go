package agent

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/agent/internal/compaction"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// recordedRun is what the record of a run says.
type recordedRun struct {
	whole    bool // nothing is shortened or left out
	begun    bool
	ended    bool // with success
	sealed   bool
	stopped  string      // why a hook ended it after the last turn
	over     *llm.Finish // of the last answer, if that was the end
	begin    beginning
	messages []llm.Message
	left     []llm.Message              // that were left out of the conversation, or shortened
	results  map[string]llm.Result      // of the calls of the last answer that are settled
	receipts map[string]journal.Receipt // without those that met a checkpoint
	turn     int
	model    string
	usage    llm.Usage
	found    []string // tools, with find_tools
	cost     catalog.Money
	unpriced bool
	points   int
	called   bool
	invalid  []llm.InvalidCall // of the last answer
	ran      int
	did      []journal.SideEffect
	intended map[string]bool // calls that may change things
	// unreported are the tools whose calls did not report their changes
	unreported []string
	// consent has the questions and decisions about the calls of the last answer, and the
	// receipts of calls that were interrupted.
	consent    []journal.Entry
	inside     map[string]bool // calls that were run while the model gave an answer that is not on record
	unfinished map[string]bool // calls of the last answer that were interrupted and changed nothing
	ids        map[string]bool // of all calls on record, also of repeated ones that are in no message
}

func newRecordedRun() *recordedRun {
	return &recordedRun{results: make(map[string]llm.Result), receipts: make(map[string]journal.Receipt), ids: make(map[string]bool), intended: make(map[string]bool), inside: make(map[string]bool), unfinished: make(map[string]bool)}
}

// readRun reads the record of a run.
func readRun(entries iter.Seq2[journal.Entry, error]) (*recordedRun, error) {
	p := newRecordedRun()
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if err := p.take(e); err != nil {
			return nil, fmt.Errorf("agent: entry %d: %w", e.Seq, err)
		}
	}
	return p, nil
}

func (p *recordedRun) take(e journal.Entry) error {
	switch e.Kind {
	case kindBegin:
		p.begun = true
		if err := e.Decode(&p.begin); err != nil {
			return err
		}
		dropNulls(p.begin.Caller)
		p.messages = slices.Clone(p.begin.Messages)
	case kindTurn:
		var t turnEntry
		if err := e.Decode(&t); err != nil {
			return err
		}
		p.answered()
		p.stopped = ""
		p.turn, p.model, p.usage, p.cost, p.unpriced = t.Turn, t.Model, t.Usage, t.Cost, t.Unpriced
		if len(t.Message.Parts) > 0 {
			p.messages = append(p.messages, t.Message)
		}
		p.called = p.called || len(t.Message.Calls())+len(t.Invalid) > 0
		p.over = t.Over
		p.invalid = t.Invalid
	case kindNote:
		var n noteEntry
		if err := e.Decode(&n); err != nil {
			return err
		}
		p.answered()
		p.invalid, p.over = nil, nil
		p.messages = append(p.messages, n.message())
	case kindCut:
		return p.takeCut(e)
	case kindCompact:
		return p.takeCompact(e)
	case kindFound:
		return p.takeFound(e)
	case kindCost:
		var c costEntry
		if err := e.Decode(&c); err != nil {
			return err
		}
		p.cost, p.unpriced = c.Cost, c.Unpriced
	case kindStop:
		var s stopEntry
		if err := e.Decode(&s); err != nil {
			return err
		}
		p.stopped = s.Why
	case kindChoice:
		var c choiceEntry
		if err := e.Decode(&c); err != nil {
			return err
		}
		p.points = c.N
		delete(p.receipts, c.Call.ID)
		if c.Result != nil {
			p.results[c.Call.ID] = *c.Result
		}
	default:
		return p.takeCall(e)
	}
	return nil
}

// beforeQuestion puts the conversation where it was when a question was about to be asked:
// all calls of the last answer have been seen to.
func (p *recordedRun) beforeQuestion() {
	p.answered()
	p.invalid = nil
}

// takeFound takes tools that the model found.
func (p *recordedRun) takeFound(e journal.Entry) error {
	var f foundEntry
	err := e.Decode(&f)
	for _, d := range f.Tools {
		p.found = append(p.found, d.Name)
	}
	return err
}

// takeCut takes results that were shortened.
func (p *recordedRun) takeCut(e journal.Entry) error {
	var c compaction.Cut
	if err := e.Decode(&c); err != nil {
		return err
	}
	p.beforeQuestion()
	if !p.whole {
		p.left = append(p.left, c.Changed(p.messages)...)
		p.messages = c.Apply(p.messages, redactor(nil).clean)
	}
	return nil
}

// takeCompact takes a compaction.
func (p *recordedRun) takeCompact(e journal.Entry) (err error) {
	var c compactEntry
	if err := e.Decode(&c); err != nil {
		return err
	}
	p.beforeQuestion()
	p.usage, p.cost, p.unpriced = p.usage.Add(c.Used), c.Cost, c.Unpriced
	if !p.whole {
		p.left = append(p.left, c.left(p.messages)...)
		p.messages, err = c.apply(p.messages)
	}
	return err
}

// takeCall takes what the runtime records about calls, and the end of the run.
func (p *recordedRun) takeCall(e journal.Entry) error {
	switch e.Kind {
	case kindInside:
		var in insideEntry
		if err := e.Decode(&in); err != nil {
			return err
		}
		p.inside[in.Call] = true
	case journal.KindIntent:
		var in journal.Intent
		if err := e.Decode(&in); err != nil {
			return err
		}
		p.ids[in.Call], p.intended[in.Call] = true, true
	case journal.KindEnd:
		var end journal.End
		if err := e.Decode(&end); err != nil {
			return err
		}
		p.ended = end.Status == "success"
	case journal.KindSeal:
		p.sealed = true
	case journal.KindQuestion, journal.KindApproval:
		p.consent = append(p.consent, e)
	case journal.KindReceipt, journal.KindRefusal:
		var r journal.Receipt
		if err := e.Decode(&r); err != nil {
			return err
		}
		p.ids[r.Call] = true
		p.settle(r)
		if p.unfinished[r.Call] { // its approval is gone
			p.consent = append(p.consent, e)
		}
	}
	return nil
}

// settle keeps the result of a call.
func (p *recordedRun) settle(r journal.Receipt) {
	p.receipts[r.Call] = r
	delete(p.unfinished, r.Call)
	if r.Interrupted() && !p.intended[r.Call] {
		p.unfinished[r.Call] = true
	}
	if r.Status != journal.Refused && r.ExecutedBy != journal.ByProvider {
		p.ran++
		if r.Usage != nil {
			p.usage = p.usage.Add(*r.Usage)
		}
		p.did = append(p.did, r.SideEffects...)
		if p.intended[r.Call] {
			p.unreported = unreported(p.unreported, r)
		}
	}
	if r.Result != nil {
		result := *r.Result
		if r.Status == journal.Refused {
			result.Parts = markOwn(result.Parts)
		}
		p.results[r.Call] = result
	} else {
		p.results[r.Call] = llm.Result{CallID: r.Call, Name: r.Tool, Failed: r.Status != journal.OK, Parts: []llm.Part{llm.Text{Text: r.Reason}}}
	}
}

// answered adds the results of the last answer's calls to the conversation.
func (p *recordedRun) answered() {
	if len(p.messages) == 0 {
		return
	}
	var results []llm.Result
	for _, c := range p.messages[len(p.messages)-1].Calls() {
		if r, ok := p.results[c.ID]; ok {
			results = append(results, r)
		}
	}
	if len(results) > 0 {
		p.messages = append(p.messages, llm.Results(results...))
	}
	clear(p.results)
	clear(p.receipts)
	clear(p.unfinished)
	clear(p.inside)
	p.consent = nil
}

// callsInLostAnswer returns a note about calls that ran while the model gave an answer that
// is not in the record, because the process ended first. It is empty if there are none.
func (p *recordedRun) callsInLostAnswer() string {
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(p.inside)) {
		r, ok := p.receipts[id]
		if !ok || r.Status == journal.Refused {
			continue
		}
		line := fmt.Sprintf("%s %s: %s", r.Tool, r.Args, r.Status)
		if r.Result != nil {
			line += ": " + secret.Head(r.Result.Text(), maxTask)
		}
		lines = append(lines, line)
	}
	if lines == nil {
		return ""
	}
	return "An answer of yours was interrupted. These calls were made in it; do not make them again unless they failed:\n" + strings.Join(lines, "\n")
}
