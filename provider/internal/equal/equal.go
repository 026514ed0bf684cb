// Package equal compares requests and events. A relay compares every event, and
// almost all are equal, so the common types are compared by hand:
// reflect.DeepEqual takes ten times as long.
package equal

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// Requests reports whether a planned request asks for the same as the client's
// request. The name of the model is not compared.
func Requests(planned, said *llm.Request) bool {
	return contents(planned, said) && settings(planned, said)
}

func contents(planned, said *llm.Request) bool {
	return slices.EqualFunc(planned.Tools, said.Tools, tools) && slices.EqualFunc(planned.Messages, said.Messages, messages)
}

// settings compares everything but the contents.
func settings(planned, said *llm.Request) bool {
	p := *planned
	p.Model, p.Tools, p.Messages = said.Model, said.Tools, said.Messages
	return reflect.DeepEqual(&p, said)
}

// tools reports whether a planned tool is equal to the client's. A tool that is not
// strict is equal to a tool that does not say.
func tools(planned, said llm.ToolDef) bool {
	strict := func(t llm.ToolDef) bool { return t.Strict != nil && *t.Strict }
	return planned.Kind == said.Kind && planned.Name == said.Name && planned.Description == said.Description &&
		(planned.Strict == nil || said.Strict != nil) && strict(planned) == strict(said) &&
		compactJSON(planned.Schema, said.Schema) && lists(planned.Examples, said.Examples) &&
		pointers(planned.Grammar, said.Grammar) && pointers(planned.Hosted, said.Hosted) && planned.Origin == said.Origin && extras(planned.Extra, said.Extra)
}

// compactJSON reports whether two texts are the same JSON, except for white space.
func compactJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func messages(a, b llm.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Parts, b.Parts, parts) && extras(a.Extra, b.Extra)
}

func parts(a, b llm.Part) bool {
	switch a := a.(type) {
	case llm.Text:
		b, ok := b.(llm.Text)
		return ok && texts(a, b)
	case llm.Call:
		b, ok := b.(llm.Call)
		return ok && calls(a, b)
	case llm.Result:
		b, ok := b.(llm.Result)
		return ok && a.CallID == b.CallID && a.Name == b.Name && a.Failed == b.Failed && a.Hosted == b.Hosted &&
			slices.EqualFunc(a.Parts, b.Parts, parts) && states(a.State, b.State) && extras(a.Extra, b.Extra)
	}
	return reflect.DeepEqual(a, b)
}

func texts(a, b llm.Text) bool {
	return a.Text == b.Text && a.Refusal == b.Refusal && a.Ours == b.Ours && a.Origin == b.Origin && states(a.State, b.State) && extras(a.Extra, b.Extra) &&
		pointers(a.LogProbs, b.LogProbs) && lists(a.Citations, b.Citations)
}

func calls(a, b llm.Call) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Kind == b.Kind && a.Hosted == b.Hosted && bytes.Equal(a.Args, b.Args) &&
		a.Provenance.Dialect == b.Provenance.Dialect && a.Provenance.Marked == b.Provenance.Marked && a.Provenance.Echo == b.Provenance.Echo &&
		a.Provenance.Truncated == b.Provenance.Truncated && slices.Equal(a.Provenance.Repairs, b.Provenance.Repairs) &&
		states(a.State, b.State) && extras(a.Extra, b.Extra)
}

// starts reports whether the starts of two calls are equal.
func starts(a, b llm.CallStart) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Kind == b.Kind && extras(a.Extra, b.Extra)
}

func states(a, b llm.State) bool { return a.Vendor == b.Vendor && bytes.Equal(a.Data, b.Data) }

func extras(a, b llm.Extra) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

func lists[T any](a, b []T) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// pointers reports whether two pointers are equal, or point to equal values.
func pointers[T any](a, b *T) bool { return a == b || reflect.DeepEqual(a, b) }

// Events reports whether two events are equal.
func Events(a, b llm.Event) bool {
	switch a := a.(type) {
	case llm.TextDelta:
		b, ok := b.(llm.TextDelta)
		return ok && (a == b || a.Text == b.Text && a.Part != nil && b.Part != nil && texts(*a.Part, *b.Part))
	case llm.ThinkingDelta:
		b, ok := b.(llm.ThinkingDelta)
		return ok && a == b
	case llm.CallStart:
		b, ok := b.(llm.CallStart)
		return ok && starts(a, b)
	case llm.CallDelta:
		b, ok := b.(llm.CallDelta)
		return ok && a == b
	case llm.Start:
		b, ok := b.(llm.Start)
		return ok && a.ID == b.ID && a.Model == b.Model && a.Created.Equal(b.Created) && usages(a.Usage, b.Usage)
	}
	return rareEvents(a, b)
}

// rareEvents compares the larger events, of which an answer has few.
func rareEvents(a, b llm.Event) bool {
	switch a := a.(type) {
	case llm.Call:
		b, ok := b.(llm.Call)
		return ok && calls(a, b)
	case llm.Finish:
		b, ok := b.(llm.Finish)
		return ok && finishes(a, b)
	case llm.Alternative:
		b, ok := b.(llm.Alternative)
		return ok && a.Index == b.Index && Events(a.Event, b.Event)
	}
	return reflect.DeepEqual(a, b)
}

func finishes(a, b llm.Finish) bool {
	return a.Reason == b.Reason && a.Raw == b.Raw && a.Model == b.Model && a.ID == b.ID && a.StopSequence == b.StopSequence &&
		usages(a.Usage, b.Usage) && states(a.State, b.State) && extras(a.Extra, b.Extra)
}

func usages(a, b llm.Usage) bool {
	return a.Input == b.Input && a.Output == b.Output && a.CacheRead == b.CacheRead && a.CacheWrite == b.CacheWrite &&
		a.Reasoning == b.Reasoning && maps.Equal(a.Hosted, b.Hosted)
}
