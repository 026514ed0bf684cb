package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// itemEvents are the events of a stream of items, with the item each is about.
func itemEvents(t *testing.T, stream string) (ids map[int][]string, types []string, last []string) {
	t.Helper()
	ids = map[int][]string{}
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var ev struct {
			Type   string
			Index  *int   `json:"output_index"`
			ItemID string `json:"item_id"`
			Item   struct{ ID string }
			Resp   struct{ Output []struct{ ID string } } `json:"response"`
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		types = append(types, ev.Type)
		if ev.Index != nil {
			ids[*ev.Index] = append(ids[*ev.Index], ev.ItemID+ev.Item.ID)
		}
		for _, item := range ev.Resp.Output {
			last = append(last, item.ID)
		}
	}
	return ids, types, last
}

// All events of an item of the Responses format have one id, also where the state
// that comes at its end has another, and every item another one.
func TestItemIDs(t *testing.T) {
	own := func(v string) llm.State { return llm.State{Vendor: Responses, Data: []byte(v)} }
	args := llm.CallDelta{ID: "c1", Args: "{}"}
	for _, c := range []struct {
		name   string
		events []llm.Event
		want   []string // what the ids are; empty stands for any
	}{
		{"thinking of others", []llm.Event{llm.ThinkingDelta{Text: "a"}, llm.ThinkingDelta{Text: "b"}, llm.TextDelta{Text: "c"}}, []string{"", ""}},
		{"a state at the end", []llm.Event{
			llm.ThinkingDelta{Text: "a"}, llm.ThinkingDelta{Part: &llm.Thinking{State: own(`{"type":"reasoning","id":"rs_1","summary":[]}`)}},
			llm.TextDelta{Text: "c"}, llm.TextDelta{Part: &llm.Text{State: own(`{"id":"msg_1"}`)}},
			llm.CallStart{ID: "c1", Name: "f"}, args, llm.Call{ID: "c1", Name: "f", Args: []byte("{}"), State: own(`{"id":"fc_1"}`)},
		}, []string{"", "", ""}},
		{"said before", []llm.Event{
			llm.PartEnd{Next: "rs_1", Vendor: Responses}, llm.ThinkingDelta{Text: "a"}, llm.ThinkingDelta{Part: &llm.Thinking{State: own(`{"type":"reasoning","id":"rs_1","summary":[]}`)}},
			llm.PartEnd{Next: "msg_1", Vendor: Responses}, llm.TextDelta{Text: "c"}, llm.TextDelta{Part: &llm.Text{State: own(`{"id":"msg_1"}`)}},
			llm.PartEnd{Next: "fc_1", Vendor: Responses}, llm.CallStart{ID: "c1", Name: "f"}, args, llm.Call{ID: "c1", Name: "f", Args: []byte("{}"), State: own(`{"id":"fc_1"}`)},
		}, []string{"rs_1", "msg_1", "fc_1"}},
		{"said by another", []llm.Event{llm.PartEnd{Next: "rs_1", Vendor: "other"}, llm.ThinkingDelta{Text: "a"}, llm.TextDelta{Text: "c"}}, []string{"", ""}},
		{"said twice", []llm.Event{llm.PartEnd{Next: "m", Vendor: Responses}, llm.ThinkingDelta{Text: "a"}, llm.PartEnd{Next: "m", Vendor: Responses}, llm.TextDelta{Text: "c"}}, []string{"m", ""}},
		{"in one piece", []llm.Event{
			llm.ThinkingDelta{Text: "a", Part: &llm.Thinking{State: own(`{"type":"reasoning","id":"rs_1","summary":[]}`)}},
			llm.Call{ID: "c1", Name: "f", Args: []byte("{}"), State: own(`{"id":"fc_1"}`)},
		}, []string{"rs_1", "fc_1"}},
		{"a call that is cut off", []llm.Event{llm.CallStart{ID: "c1", Name: "f"}, llm.CallDelta{ID: "c1", Args: "{"}, llm.InvalidCall{ID: "c1", Name: "f", Raw: "{"}}, []string{""}},
	} {
		var b bytes.Buffer
		enc := Codec{Format: Responses}.NewStream(&b, format.Head{})
		for _, ev := range append(c.events, llm.Finish{Reason: llm.Stop}) {
			if err := enc.Write(ev); err != nil {
				t.Fatal(err)
			}
		}
		ids, types, last := itemEvents(t, b.String())
		if len(ids) != len(c.want) || len(last) != len(c.want) {
			t.Fatalf("%s: %d items, %d at the end\n%s", c.name, len(ids), len(last), b.String())
		}
		for i, want := range c.want {
			all := slices.Compact(slices.Clone(ids[i]))
			if len(all) != 1 || all[0] == "" || all[0] != last[i] || want != "" && all[0] != want {
				t.Errorf("%s: item %d has the ids %q and %q, want %q", c.name, i, ids[i], last[i], want)
			}
		}
		if slices.Sort(last); len(slices.Compact(last)) != len(c.want) {
			t.Errorf("%s: two items have one id: %q", c.name, last)
		}
		if added, done := slices.Index(types, "response.reasoning_summary_part.added"), slices.Index(types, "response.reasoning_summary_part.done"); added >= 0 && done < added {
			t.Errorf("%s: a part of a summary that does not end: %q", c.name, types)
		}
	}
}

// What a server of the format said goes on to a client with the ids it had.
func TestItemIDsGoOn(t *testing.T) {
	said := `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_9","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_up","summary":[]}}

data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_up","output_index":0,"summary_index":0,"delta":"hm"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_up","encrypted_content":"x","summary":[{"type":"summary_text","text":"hm"}]}}

data: {"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_up","status":"in_progress","role":"assistant","content":[]}}

data: {"type":"response.output_text.delta","item_id":"msg_up","output_index":1,"content_index":0,"delta":"hello"}

data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_up","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hello","annotations":[]}]}}

data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_up","call_id":"c1","name":"f","arguments":"","status":"in_progress"}}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_up","output_index":2,"delta":"{}"}

data: {"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_up","call_id":"c1","name":"f","arguments":"{}","status":"completed"}}

data: {"type":"response.completed","response":{"id":"resp_9","object":"response","created_at":1,"model":"m","status":"completed","output":[]}}

`
	c := Codec{Format: Responses}
	var b bytes.Buffer
	enc := c.NewStream(&b, format.Head{})
	for ev, err := range c.DecodeStream(strings.NewReader(said)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	ids, _, last := itemEvents(t, b.String())
	for i, want := range []string{"rs_up", "msg_up", "fc_up"} {
		if all := slices.Compact(ids[i]); len(all) != 1 || all[0] != want || len(last) != 3 || last[i] != want {
			t.Errorf("item %d has the ids %q, want %s\n%s", i, all, want, b.String())
		}
	}
}

// What the assistant said is an item with its type where the host wants it.
func TestTypedMessages(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{llm.User("a"), llm.Assistant(llm.Text{Text: "b"}), llm.User("c")}}
	for typed, want := range map[bool]string{
		false: `{"role":"assistant","content":"b"}`,
		true:  `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]}]}`,
	} {
		c := Codec{Format: Responses, Quirks: format.Quirks{TypedMessages: typed}}
		b, _, err := c.EncodeRequest(req, false)
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("typed %v: %s, %v", typed, b, err)
		}
	}
}
