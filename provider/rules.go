package provider

import (
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// requestRules are all changes that a plan makes to a request, in order. A rule
// that changes something either reports a warning, or fills in the stage of
// job.answer that reverts the change.
var requestRules = []struct {
	name  string
	when  condition
	apply func(planner)
}{
	// Options of the request.
	{"options of the vendor", always, planner.vendorOptions},
	{"required token limit", always, planner.requireTokenLimit},
	{"sampling options", always, planner.sampling},
	{"models that do not think", always, planner.dropReasoning},
	{"models that always think", reasons, planner.keepThinkingOn},
	{"dynamic thinking budget", thinking, planner.dynamicBudget},
	{"either budget or effort", thinking, planner.oneMeasure},
	{"effort as a budget", thinking, planner.countEffort},
	{"bounds of the budget", thinking, planner.boundBudget},
	{"budget as an effort", thinking, planner.nameEffort},
	{"models without efforts", thinking, planner.dropEffort},
	{"known efforts", thinking, planner.nearestEffort},
	{"token limit above the budget", thinking, planner.raiseTokenLimit},
	{"sampling while thinking", thinking, planner.samplingWhileThinking},
	{"bounds of options", translated, planner.boundOptions},
	{"thinking that can be sent back", translated, planner.returnThinking},

	// History.
	{"signatures from other formats", always, planner.adoptSignatures},
	{"history repair", always, planner.repairHistory},
	{"hosted calls in the history", emulated, planner.dropHosted},
	{"user first", always, planner.userFirst},
	{"one system message", always, planner.oneSystemMessage},
	{"system messages", translated, planner.systemMessages},
	{"blank texts", translated, planner.blankTexts},
	{"turns that began without thinking", native, planner.turnWithoutThinking},
	{"calls without a signature", native, planner.markUnsigned},
	{"ids of calls", always, planner.countCallIDs},

	// Schema of the answer.
	{"schema of the answer", always, planner.outputSchema},

	// Tools.
	{"tools that a vendor defines", always, planner.defineTools},
	{"free-text tools", native, planner.freeTextTools},
	{"tool choice", native, planner.toolChoice},
	{"tools of the history", native, planner.declareUsedTools},
	{"hosted tools with functions", native | translated, planner.hostedWithFunctions},
	{"schemas of tools", native, planner.narrowTools},
	{"control tokens in text", native, planner.guardTokens},
	{"names and ids", native, planner.aliasNames},
	{"calls in text", native, planner.callsInText},
	{"emulation", emulated, planner.emulate},

	// Content of messages.
	{"types of media", translated, planner.sniffMedia},
	{"media types", always, planner.mediaTypes},
	{"documents without text", translated, planner.describeDocuments},
	{"white space at the end", translated, planner.trimEnd},
	{"the word JSON", translated, planner.mentionJSON},

	// Answer.
	{"form of the answer", always, planner.readOutput},
	{"demands of the request", always, planner.checkAnswer},
	{"one system message, with what was added", always, planner.foldAdded},
	{"order of turns", always, planner.orderTurns},
	{"members that the host refuses", always, planner.refusedMembers},
}

// condition limits a rule to some requests. All of its bits have to hold.
type condition uint8

const (
	always     condition = 0
	translated condition = 1 << iota // the client did not write the request for this vendor
	native                           // the tools are handed to the vendor
	emulated                         // they are not
	reasons                          // the request sets options for thinking
	thinking                         // the request asks to think
)

// fits reports whether the conditions hold for the current state of the request.
func (c condition) fits(p planner) bool {
	return !(c&translated != 0 && p.asIs ||
		c&native != 0 && p.route.Kind != Native ||
		c&emulated != 0 && p.route.Kind == Native ||
		c&reasons != 0 && p.req.Reasoning == nil ||
		c&thinking != 0 && !thinks(p.req))
}

// plan decides how to ask and writes the request in the vendor's terms. The
// caller's request is not changed.
func (m *Model) plan(req *llm.Request) (*job, error) { return m.planned(req, false) }

// planned is plan. If asIs is set, nothing is added that the request does not need.
func (m *Model) planned(req *llm.Request, asIs bool) (*job, error) {
	if err := emulate.Check("provider", req); err != nil {
		return nil, err
	}
	if m.client.CacheMarks {
		req = m.WithCacheMarks(req)
	}
	p := planner{m, m.newJob(req, asIs)}
	for i := range requestRules {
		r := &requestRules[i]
		if !r.when.fits(p) {
			continue
		}
		if r.apply(p); p.err != nil {
			return nil, p.err
		}
	}
	return p.job, nil
}
