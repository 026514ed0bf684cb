package provider

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// What a relay compares, it compares with each request and each event, and nearly always it is the same.
// reflect.DeepEqual takes ten times as long, so it is asked only about what is rare.

// sameRequest reports whether a planned request asks for the same as what a client said. The name of the
// model does not count.
func sameRequest(planned, said *llm.Request) bool {
	if !slices.EqualFunc(planned.Tools, said.Tools, sameTool) || !slices.EqualFunc(planned.Messages, said.Messages, sameMessage) {
		return false
	}
	p := *planned
	p.Model, p.Tools, p.Messages = said.Model, said.Tools, said.Messages
	return reflect.DeepEqual(&p, said)
}

// sameTool reports whether a planned tool is the one of the client. One that need not be strict is the same
// as one of which nothing is said.
func sameTool(planned, said llm.ToolDef) bool {
	strict := func(t llm.ToolDef) bool { return t.Strict != nil && *t.Strict }
	return planned.Kind == said.Kind && planned.Name == said.Name && planned.Description == said.Description &&
		(planned.Strict == nil || said.Strict != nil) && strict(planned) == strict(said) &&
		sameJSON(planned.Schema, said.Schema) && sameList(planned.Examples, said.Examples) &&
		samePlace(planned.Grammar, said.Grammar) && samePlace(planned.Hosted, said.Hosted) && sameExtra(planned.Extra, said.Extra)
}

// schemaForm is for comparing schemas whose $schema does not matter.
var schemaForm = js.Form{Mode: js.ByValue, Omit: func(depth int, name, _ []byte) bool { return depth == 0 && string(name) == "$schema" }}

// sameJSON reports whether two texts are the same JSON, but for white space.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func sameMessage(a, b llm.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Parts, b.Parts, samePart) && sameExtra(a.Extra, b.Extra)
}

func samePart(a, b llm.Part) bool {
	switch a := a.(type) {
	case llm.Text:
		b, ok := b.(llm.Text)
		return ok && sameText(a, b)
	case llm.Call:
		b, ok := b.(llm.Call)
		return ok && sameCall(a, b)
	case llm.Result:
		b, ok := b.(llm.Result)
		return ok && a.CallID == b.CallID && a.Name == b.Name && a.Failed == b.Failed && a.Hosted == b.Hosted &&
			slices.EqualFunc(a.Parts, b.Parts, samePart) && sameState(a.State, b.State) && sameExtra(a.Extra, b.Extra)
	}
	return reflect.DeepEqual(a, b)
}

func sameText(a, b llm.Text) bool {
	return a.Text == b.Text && a.Refusal == b.Refusal && a.Ours == b.Ours && sameState(a.State, b.State) && sameExtra(a.Extra, b.Extra) &&
		samePlace(a.LogProbs, b.LogProbs) && sameList(a.Citations, b.Citations)
}

func sameCall(a, b llm.Call) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Kind == b.Kind && a.Hosted == b.Hosted && bytes.Equal(a.Args, b.Args) &&
		a.Provenance.Dialect == b.Provenance.Dialect && a.Provenance.Marked == b.Provenance.Marked && a.Provenance.Echo == b.Provenance.Echo &&
		a.Provenance.Truncated == b.Provenance.Truncated && slices.Equal(a.Provenance.Repairs, b.Provenance.Repairs) &&
		sameState(a.State, b.State) && sameExtra(a.Extra, b.Extra)
}

// sameStart reports whether two calls begin alike.
func sameStart(a, b llm.CallStart) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Kind == b.Kind && sameExtra(a.Extra, b.Extra)
}

func sameState(a, b llm.State) bool { return a.Vendor == b.Vendor && bytes.Equal(a.Data, b.Data) }

func sameExtra(a, b llm.Extra) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

func sameList[T any](a, b []T) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// samePlace reports whether two pointers point to the same, or to what is the same.
func samePlace[T any](a, b *T) bool { return a == b || reflect.DeepEqual(a, b) }

// same reports whether two events say the same.
func same(a, b llm.Event) bool {
	switch a := a.(type) {
	case llm.TextDelta:
		b, ok := b.(llm.TextDelta)
		return ok && (a == b || a.Text == b.Text && a.Part != nil && b.Part != nil && sameText(*a.Part, *b.Part))
	case llm.ThinkingDelta:
		b, ok := b.(llm.ThinkingDelta)
		return ok && a == b
	case llm.CallStart:
		b, ok := b.(llm.CallStart)
		return ok && sameStart(a, b)
	case llm.CallDelta:
		b, ok := b.(llm.CallDelta)
		return ok && a == b
	case llm.Start:
		b, ok := b.(llm.Start)
		return ok && a.ID == b.ID && a.Model == b.Model && a.Created.Equal(b.Created) && sameUsage(a.Usage, b.Usage)
	}
	return sameEnd(a, b)
}

// sameEnd is same for the larger events, of which there are few. It is not inlined: whoever relays a stream is deep in
// the stack, which is held as long as the stream.
//
//go:noinline
func sameEnd(a, b llm.Event) bool {
	switch a := a.(type) {
	case llm.Call:
		b, ok := b.(llm.Call)
		return ok && sameCall(a, b)
	case llm.Finish:
		b, ok := b.(llm.Finish)
		return ok && sameFinish(a, b)
	case llm.Alternative:
		b, ok := b.(llm.Alternative)
		return ok && a.Index == b.Index && same(a.Event, b.Event)
	}
	return reflect.DeepEqual(a, b)
}

func sameFinish(a, b llm.Finish) bool {
	return a.Reason == b.Reason && a.Raw == b.Raw && a.Model == b.Model && a.ID == b.ID && a.StopSequence == b.StopSequence &&
		sameUsage(a.Usage, b.Usage) && sameState(a.State, b.State) && sameExtra(a.Extra, b.Extra)
}

func sameUsage(a, b llm.Usage) bool {
	return a.Input == b.Input && a.Output == b.Output && a.CacheRead == b.CacheRead && a.CacheWrite == b.CacheWrite &&
		a.Reasoning == b.Reasoning && maps.Equal(a.Hosted, b.Hosted)
}
