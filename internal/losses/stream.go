package losses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// Events is a stream whose events are objects, in lines of text.
type Events struct {
	Lines []byte
	// Bytes converts the lines to the bytes of the stream; nil means that the lines are the stream.
	Bytes func(lines []byte) []byte
	// Whole means that the client asked for one document, which a server builds from the stream.
	Whole bool
}

// repeated are the objects of events that another event repeats, under the type of the event. If only one of the events
// has a member of them, the vendor's data about the answer is still complete. The members inside of them are examined
// nevertheless if the value is true.
var repeated = map[string]map[string]bool{
	"=response.created":                     {"response": true},
	"=response.in_progress":                 {"response": false},
	"=response.queued":                      {"response": false},
	"=response.output_item.added":           {"item": true},
	"=response.content_part.added":          {"part": true},
	"=response.content_part.done":           {"part": true},
	"=response.reasoning_summary_part.done": {"part": true},
	"=response.output_item.done":            {"annotations": false, "logprobs": false}, // which came with the text
	"=response.completed":                   {"output": false},                         // its items are complete in separate events
	"=response.incomplete":                  {"output": false},
	"=content_block_start":                  {"input": false}, // which is empty before its pieces
}

// UnknownStream is [UnknownAnswer] for a stream that is rewritten event by event.
func UnknownStream(c wire.Codec, to string, events Events) ([]string, error) {
	u := &unknownStream{codec: c, to: to, events: events}
	if err := u.parse(); err != nil {
		return nil, err
	}
	var err error
	if u.base, err = u.translate(); err != nil {
		return nil, err
	}
	for i, doc := range u.docs {
		walk(doc, place{path: u.names[i], set: func(any) {}}, func(v any, at place) bool {
			object, ok := v.(map[string]any)
			if !ok || err != nil {
				return true
			}
			path := append(slices.Clone(at.path), kinds(object)...)
			looks, enters := u.looks(path, object)
			if looks {
				err = u.mark(object, path)
			}
			return enters
		})
	}
	return u.silent, err
}

type unknownStream struct {
	codec  wire.Codec
	to     string
	events Events
	gaps   []string   // the text before, between and after the objects
	names  [][]string // the names of each object in the lines
	docs   []any
	base   Translation
	silent []string
}

// parse finds the objects.
func (u *unknownStream) parse() error {
	gap := ""
	for line := range strings.Lines(string(u.events.Lines)) {
		at := strings.IndexByte(line, '{')
		if at < 0 {
			gap += line
			continue
		}
		d := json.NewDecoder(strings.NewReader(line[at:]))
		d.UseNumber()
		var doc any
		if err := d.Decode(&doc); err != nil {
			return fmt.Errorf("%w: %s", err, line)
		}
		var name []string
		if words := strings.Fields(line[:at]); len(words) == 2 && !strings.HasSuffix(words[0], ":") {
			name = []string{kindMark + words[1]}
		}
		u.gaps, u.names, u.docs = append(u.gaps, gap+line[:at]), append(u.names, name), append(u.docs, doc)
		gap = line[at+int(d.InputOffset()):]
	}
	u.gaps = append(u.gaps, gap)
	return nil
}

// looks reports whether an object at a path is examined, and whether the objects inside of it are.
func (u *unknownStream) looks(path []string, object map[string]any) (it, inside bool) {
	if free(path) || u.to != u.codec.Format && slices.Contains(path, "reasoning_details") { // vendor state, which no other vendor receives
		return false, false
	}
	told := func(member string) bool { return answerWords[member] != "" && u.base.omitted(member) }
	if slices.ContainsFunc(path, u.base.omitted) || slices.ContainsFunc(sorted(object), told) {
		return false, false
	}
	if index, ok := object["index"].(json.Number); ok && index != "0" && len(path) == 2 && u.base.omitted("1") { // the second answer
		return false, false
	}
	if len(path) == 0 {
		return true, true
	}
	for member, own := range repeated[path[0]] {
		if slices.Contains(path, member) {
			return own, false
		}
	}
	return true, true
}

// mark adds the marker to an object, and records where it is lost.
func (u *unknownStream) mark(object map[string]any, path []string) error {
	object[marker] = marker
	defer delete(object, marker)
	t, err := u.translate()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s", err, strings.Join(path, "."))
	case bytes.Contains(t.Out, []byte(marker)), t.tells(marker):
	case !slices.Equal(t.Warnings, u.base.Warnings) && t.tells(holder(path)):
	default:
		u.silent = append(u.silent, strings.Join(path, "."))
	}
	return nil
}

// translate translates the stream to another format.
func (u *unknownStream) translate() (Translation, error) {
	var lines bytes.Buffer
	for i, doc := range u.docs {
		lines.WriteString(u.gaps[i])
		text, err := json.Marshal(doc)
		if err != nil {
			return Translation{}, err
		}
		lines.Write(text)
	}
	lines.WriteString(u.gaps[len(u.docs)])
	body := lines.Bytes()
	if u.events.Bytes != nil {
		body = u.events.Bytes(body)
	}
	t := Translation{From: u.codec.Format, To: u.to, Body: body}
	return t, u.write(&t)
}

func (u *unknownStream) write(t *Translation) error {
	var out bytes.Buffer
	var whole llm.Builder
	to := wire.Codec{Format: u.to}
	enc := to.NewStream(&out, format.Head{ID: "a", Model: "m", Created: 1})
	for ev, err := range u.codec.DecodeStream(bytes.NewReader(t.Body)) {
		if err != nil {
			return err
		}
		whole.Add(ev)
		if u.events.Whole {
			continue
		}
		if err := enc.Write(ev); err != nil {
			return err
		}
	}
	t.Warnings = slices.Clone(whole.Response().Warnings)
	var lost []llm.Warning
	var err error
	if t.Out, lost = out.Bytes(), enc.Warnings(); u.events.Whole {
		t.Out, lost, err = to.EncodeResponse(whole.Response())
	}
	t.Warnings = append(t.Warnings, lost...)
	return err
}
