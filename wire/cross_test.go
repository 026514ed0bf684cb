package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// TestCrossVendor translates conversations between every ordered pair of
// formats. Calls, arguments, results, their order and the text survive; and
// whatever else did not is named by a warning.
func TestCrossVendor(t *testing.T) {
	for _, from := range Formats() {
		for _, to := range Formats() {
			pairs, refused := 0, 0
			for seed := range uint64(seeds / 2) {
				x := newGen(from, seed).request()
				y := carry(t, Codec{Format: from}, x).req
				z := carry(t, Codec{Format: to}, y)
				if z == nil {
					refused++
					continue
				}
				pairs++
				where := fmt.Sprintf("%s → %s, seed %d", from, to, seed)
				compareRequests(t, where, y, z.req)
				checkWarnings(t, where, y, z)
			}
			t.Logf("%-9s → %-9s %3d conversations, %2d refused", from, to, pairs, refused)
		}
	}
}

// carried is a request that went through a format.
type carried struct {
	req      *llm.Request
	warnings []llm.Warning
}

// carry encodes and decodes. A request may be refused only for a hosted tool
// that the format cannot carry.
func carry(t *testing.T, c Codec, req *llm.Request) *carried {
	t.Helper()
	body, warnings, err := c.EncodeRequest(req, false)
	if err != nil {
		hosted := slices.ContainsFunc(req.Tools, func(d llm.ToolDef) bool { return d.Kind == llm.HostedTool })
		if llm.KindOf(err) != llm.Unsupported || !hosted {
			t.Fatalf("%s: %v", c.Format, err)
		}
		return nil
	}
	out, _, err := c.DecodeRequest(body)
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.Format, err, body)
	}
	return &carried{out, warnings}
}

// story is what every format must keep.
type story struct {
	Texts   []string
	Calls   []string
	Results []string
}

func tell(parts []llm.Part, s *story, index map[string]int) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				s.Texts = append(s.Texts, squeeze(p.Text))
			}
		case llm.Call:
			if !p.Hosted {
				index[p.ID] = len(s.Calls)
				s.Calls = append(s.Calls, p.Name+" "+canonical(p))
			}
		case llm.Result:
			if !p.Hosted {
				s.Results = append(s.Results, fmt.Sprint(index[p.CallID], " ", p.Name, " ", squeeze(p.Text())))
			}
		}
	}
}

func storyOf(req *llm.Request) *story {
	s := new(story)
	index := map[string]int{}
	if req.System != "" {
		s.Texts = append(s.Texts, squeeze(req.System))
	}
	for _, m := range req.Messages {
		tell(m.Parts, s, index)
	}
	return s
}

// squeeze removes white space, which formats with one text a message add.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// canonical writes the arguments of a call, free text as an object.
func canonical(c llm.Call) string {
	args := c.Args
	if c.Kind == llm.FreeTool {
		args = append(append([]byte(`{"input":`), args...), '}')
	}
	var v any
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func compareRequests(t *testing.T, where string, y, z *llm.Request) {
	t.Helper()
	a, b := storyOf(y), storyOf(z)
	if diff := cmp.Diff(a.Calls, b.Calls); diff != "" {
		t.Fatalf("%s: calls\n%s", where, diff)
	}
	if diff := cmp.Diff(a.Results, b.Results); diff != "" {
		t.Fatalf("%s: results\n%s", where, diff)
	}
	compareTexts(t, where, a.Texts, b.Texts)
}

// compareTexts: every text is there. Formats may join texts, add words around
// media that had to move, and put a refusal after other text.
func compareTexts(t *testing.T, where string, a, b []string) {
	t.Helper()
	all := strings.Join(b, "")
	for _, text := range a {
		if !strings.Contains(all, text) {
			t.Fatalf("%s: the text %q is lost in %q", where, text, b)
		}
	}
}

// features are what a format may fail to carry, and the words a warning then
// uses. A feature is compared by what it prints.
var features = []struct {
	name  string
	of    func(r *llm.Request) string
	words []string
}{
	{"thinking", func(r *llm.Request) string {
		return countParts(r, func(p llm.Part) bool { _, ok := p.(llm.Thinking); return ok })
	}, []string{"thinking"}},
	{"failed", func(r *llm.Request) string {
		return countParts(r, func(p llm.Part) bool { x, ok := p.(llm.Result); return ok && x.Failed })
	}, []string{"failed"}},
	{"hosted call", func(r *llm.Request) string {
		return countParts(r, func(p llm.Part) bool { x, ok := p.(llm.Call); return ok && x.Hosted })
	}, []string{"hosted call"}},
	{"media", func(r *llm.Request) string {
		return countParts(r, func(p llm.Part) bool { _, ok := p.(llm.Media); return ok })
	}, []string{"image", "audio", "document", "media in results"}},
	{"media in results", func(r *llm.Request) string { return countParts(r, holdsMedia) }, []string{"media in results"}},
	{"refusal", func(r *llm.Request) string {
		return countParts(r, func(p llm.Part) bool { x, ok := p.(llm.Text); return ok && x.Refusal })
	}, []string{"refusal"}},
	{"roles", func(r *llm.Request) string {
		n := 0
		for _, m := range r.Messages {
			if m.Role == llm.RoleDeveloper {
				n++
			}
		}
		return fmt.Sprint(n)
	}, []string{"developer", "system"}},
	{"text parts", func(r *llm.Request) string {
		if len(r.Messages) > 0 && r.System == "" {
			return fmt.Sprint(len(r.Messages[0].Parts) > 1)
		}
		return "false"
	}, []string{"text parts", "image", "audio", "document"}},
	{"part fields", func(r *llm.Request) string { return strings.Join(extrasOfParts(r), " ") }, []string{"cache_control", "partMetadata", "prompt_cache_breakpoint", "cachePoint"}},
	{"request fields", func(r *llm.Request) string { return fmt.Sprint(len(r.Extra)) }, []string{"logit_bias", "n", "prompt_cache_key", "metadata", "metadata.user_id", "container", "previous_response_id", "include", "safetySettings", "cachedContent", "keep_alive", "guardrailConfig", "requestMetadata", "performanceConfig", "serviceTier", "inferenceConfig.a", "outputConfig.a", "additionalModelRequestFields"}},
	{"tools", func(r *llm.Request) string { return fmt.Sprint(len(r.Tools)) }, []string{"tool_choice", "tool_choice.allowed"}},
	{"free tools", func(r *llm.Request) string {
		return countTools(r, func(d llm.ToolDef) bool { return d.Kind == llm.FreeTool })
	}, []string{"free-text tool", "tool_choice", "tool_choice.allowed"}},
	{"grammar", func(r *llm.Request) string {
		return countTools(r, func(d llm.ToolDef) bool { return d.Grammar != nil })
	}, []string{"grammar", "tool_choice", "tool_choice.allowed"}},
	{"strict", func(r *llm.Request) string {
		return countTools(r, func(d llm.ToolDef) bool { return d.Strict != nil && *d.Strict })
	}, []string{"strict", "tool_choice", "tool_choice.allowed"}},
	{"examples", func(r *llm.Request) string {
		return countTools(r, func(d llm.ToolDef) bool { return len(d.Examples) > 0 })
	}, []string{"examples", "tool_choice", "tool_choice.allowed"}},
	{"choice", func(r *llm.Request) string {
		if c := r.Choice; c.Mode == llm.MustCall && len(c.Allowed) == 1 { // must call one of one
			return fmt.Sprintf("%v %q", c.Mode, c.Allowed[0])
		}
		return fmt.Sprintf("%v %q", r.Choice.Mode, r.Choice.Name)
	}, []string{"tool_choice"}},
	{"one call", func(r *llm.Request) string { return fmt.Sprint(r.OneCall && r.Choice.Mode != llm.MustNotCall) }, []string{"parallel_tool_calls", "disable_parallel_tool_use", "tool_choice"}},
	{"max tokens", func(r *llm.Request) string { return fmt.Sprint(r.MaxTokens) }, []string{"max_tokens"}},
	{"n", func(r *llm.Request) string { return fmt.Sprint(r.N) }, []string{"n"}},
	{"top k", func(r *llm.Request) string { return fmt.Sprint(r.TopK != nil) }, []string{"top_k"}},
	{"seed", func(r *llm.Request) string { return fmt.Sprint(r.Seed != nil) }, []string{"seed"}},
	{"stop", func(r *llm.Request) string { return fmt.Sprint(r.Stop) }, []string{"stop"}},
	{"penalties", func(r *llm.Request) string { return fmt.Sprint(r.FrequencyPenalty != nil) }, []string{"frequency_penalty"}},
	{"output", func(r *llm.Request) string { return fmt.Sprint(r.Output != nil) }, []string{"output without schema"}},
	{"reasoning", func(r *llm.Request) string { return fmt.Sprint(r.Reasoning != nil && r.Reasoning.Tokens > 0) }, []string{"reasoning.budget"}},
}

func countParts(r *llm.Request, is func(llm.Part) bool) string {
	n := 0
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if is(p) {
				n++
			}
		}
	}
	return fmt.Sprint(n)
}

func holdsMedia(p llm.Part) bool {
	r, ok := p.(llm.Result)
	return ok && slices.ContainsFunc(r.Parts, func(p llm.Part) bool { _, ok := p.(llm.Media); return ok })
}

func countTools(r *llm.Request, is func(llm.ToolDef) bool) string {
	return fmt.Sprint(len(slices.DeleteFunc(slices.Clone(r.Tools), func(d llm.ToolDef) bool { return !is(d) })))
}

func extrasOfParts(r *llm.Request) []string {
	var keys []string
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if t, ok := p.(llm.Text); ok {
				for _, fields := range t.Extra {
					for _, key := range slices.Sorted(maps.Keys(fields)) {
						keys = append(keys, sharedName(key))
					}
				}
			}
		}
	}
	return keys
}

// sharedName is one name for a field that formats call otherwise, where they mean the same by it.
func sharedName(key string) string {
	for _, m := range codec.SharedMembers {
		for _, p := range m.At {
			if p.Path == key {
				return m.Name
			}
		}
	}
	return key
}

func checkWarnings(t *testing.T, where string, y *llm.Request, z *carried, skip ...string) {
	t.Helper()
	for _, f := range features {
		before, after := f.of(y), f.of(z.req)
		if before == after || slices.Contains(skip, f.name) {
			continue
		}
		if !slices.ContainsFunc(z.warnings, func(w llm.Warning) bool { return slices.Contains(f.words, w.Feature) }) {
			t.Errorf("%s: %s was %s and is %s, but no warning says so: %v", where, f.name, before, after, z.warnings)
		}
	}
	for _, w := range z.warnings {
		if w.Code == "" || w.Feature == "" || w.Detail == "" {
			t.Errorf("%s: a warning must say what and why: %+v", where, w)
		}
	}
}

// TestCrossVendorAnswers does the same for answers, whole and streamed.
func TestCrossVendorAnswers(t *testing.T) {
	for _, from := range Formats() {
		for _, to := range Formats() {
			for seed := range uint64(seeds / 2) {
				r := newGen(from, seed).response()
				c := Codec{Format: to}
				where := fmt.Sprintf("%s → %s, seed %d", from, to, seed)
				body, _, err := c.EncodeResponse(r)
				if err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				whole, err := c.DecodeResponse(body)
				if err != nil {
					t.Fatalf("%s: %v\n%s", where, err, body)
				}
				compareAnswers(t, where, r, whole)
				streamed := build(t, c, encodeLossy(t, c, r))
				compareAnswers(t, where+", streamed", r, streamed)
			}
		}
	}
}

func compareAnswers(t *testing.T, where string, want, got *llm.Response) {
	t.Helper()
	a, b := new(story), new(story)
	tell(want.Message.Parts, a, map[string]int{})
	tell(got.Message.Parts, b, map[string]int{})
	if got.Finish.Reason == llm.Length && len(b.Calls) < len(a.Calls) {
		// Where text has no place after calls, the last call is the one that
		// the limit may have cut: it is shown, and never run.
		for _, inv := range got.Invalid {
			b.Calls = append(b.Calls, inv.Name+" "+canonical(llm.Call{Args: json.RawMessage(inv.Raw)}))
		}
	}
	if diff := cmp.Diff(a.Calls, b.Calls); diff != "" {
		t.Fatalf("%s: calls\n%s", where, diff)
	}
	compareTexts(t, where, a.Texts, b.Texts)
	if a, b := thought(shown(want.Message)), thought(got.Message); squeeze(a) != squeeze(b) {
		t.Fatalf("%s: thinking %q became %q", where, a, b)
	}
	if want.Finish.Reason != got.Finish.Reason {
		t.Fatalf("%s: finish %s became %s", where, want.Finish.Reason, got.Finish.Reason)
	}
	for _, inv := range want.Invalid {
		shown := strings.Contains(strings.Join(b.Texts, ""), squeeze(inv.Raw))
		if !shown && !slices.ContainsFunc(got.Invalid, func(c llm.InvalidCall) bool { return c.Raw == inv.Raw }) {
			t.Fatalf("%s: a call that was cut off is lost", where)
		}
	}
}

// shown drops the thinking that a vendor hides.
func shown(m llm.Message) llm.Message {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool { t, ok := p.(llm.Thinking); return ok && t.Redacted })
	return m
}

// encodeLossy encodes a stream whose warnings do not matter.
func encodeLossy(t *testing.T, c Codec, r *llm.Response) string {
	t.Helper()
	var b bytes.Buffer
	enc := c.NewStream(&b, format.Head{ID: "id", Model: "m"})
	for _, ev := range r.Events() {
		write(t, enc, ev)
	}
	return b.String()
}
