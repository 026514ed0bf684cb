package provider

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire"
)

// job is a request that is ready to be sent, and how its answer is read.
type job struct {
	route    Route
	asked    *llm.Request // as the caller asked
	req      *llm.Request // in the vendor's terms
	codec    wire.Codec
	answer   emulate.Answer
	output   schema.Narrowed // schema of the answer, if the vendor holds the model to it
	warnings []llm.Warning
	err      error // the reason for which the request is refused

	asIs   bool         // the client wrote the request for this vendor: nothing is added to it
	whole  bool         // the answer is one document and not a stream
	tap    io.Writer    // gets a copy of the body of the answer; may be nil
	relay  *relayTarget // set if the bytes of the answer go to a client unchanged
	header http.Header  // headers of the client that are sent with a relayed request
}

func (j *job) warn(code llm.WarningCode, feature, format string, args ...any) {
	j.warnings = append(j.warnings, llm.Warning{Code: code, Feature: feature, Detail: fmt.Sprintf(format, args...)})
}

// warnTool is warn for the definition of a tool.
func (j *job) warnTool(tool string, code llm.WarningCode, feature, format string, args ...any) {
	j.warnings = append(j.warnings, llm.Warning{Code: code, Feature: feature, Detail: fmt.Sprintf(format, args...), Tool: tool})
}

// refuse makes the plan fail.
func (j *job) refuse(kind llm.Kind, op, format string, args ...any) {
	j.err = &llm.Error{Op: op, Kind: kind, Err: fmt.Errorf(format, args...)}
}

// instruct adds to the instructions of the request.
func (j *job) instruct(text string) {
	j.req.System = strings.TrimSpace(j.req.System + "\n\n" + text)
}

// planner is a job in the making. Each rule of the table requestRules is a method.
type planner struct {
	*Model
	*job
}

// newJob returns the job of a request with its route and without any change.
func (m *Model) newJob(req *llm.Request, asIs bool) *job {
	j := &job{asked: req, whole: m.client.Whole, asIs: asIs}
	m.choose(req, &j.route)
	m.promote(&j.route, req)
	j.codec = m.settled.codec
	if asIs && j.route.Kind == Text && countCalls(req) == 0 { // the request does not use calls or tools
		j.route.Kind = Native
	}
	j.warnings = append(j.warnings, m.settled.unknown...)
	j.req = req.Clone()
	j.req.Model = m.model
	return j
}

// countCalls counts the calls of a conversation. It is not inlined: plans are made
// deep in the stack of a request, which is held for as long as the answer takes.
//
//go:noinline
func countCalls(req *llm.Request) int {
	n := 0
	for _, msg := range req.Messages {
		for _, p := range msg.Parts {
			if c, ok := p.(llm.Call); ok && !c.Hosted {
				n++
			}
		}
	}
	return n
}
