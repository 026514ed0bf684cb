package wire

import (
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// reasoningDetails joins the pieces of the reasoning_details of OpenRouter,
// which have to go back as they came.
type reasoningDetails struct {
	items []map[string][]byte
}

// grows are the members that come in pieces; the others are said once.
var grows = map[string]bool{"text": true, "summary": true, "data": true}

const maxDetails = 1024

func (r *reasoningDetails) add(d *decoder, v []byte) {
	item := make(map[string][]byte)
	for key, val := range d.members(v) {
		if js.Kind(val) != 'n' {
			item[string(key)] = slices.Clone(val)
		}
	}
	for _, old := range r.items {
		if item["index"] == nil || string(old["index"]) != string(item["index"]) || string(old["type"]) != string(item["type"]) {
			continue
		}
		for key, val := range item {
			if grows[key] && old[key] != nil {
				val = js.AppendQuoted(nil, js.AppendText(js.AppendText(nil, old[key]), val))
			}
			old[key] = val
		}
		return
	}
	if len(r.items) < maxDetails {
		r.items = append(r.items, item)
	}
}

// object returns {"reasoning_details":[…]}, and nil if there are none.
func (r *reasoningDetails) object() []byte {
	if len(r.items) == 0 {
		return nil
	}
	var w js.Writer
	w.Object()
	w.Key("reasoning_details")
	w.Array()
	for _, item := range r.items {
		w.Object()
		for _, key := range sortedKeys(item) {
			w.AnyKey(key)
			w.Raw(item[key])
		}
		w.End()
	}
	w.EndArray()
	w.End()
	return w.Buf
}

func (d *decoder) detailText(v []byte) string {
	if text := d.get(v, "text"); text != nil {
		return d.text(text)
	}
	return d.text(d.get(v, "summary"))
}

// chatAudio joins the pieces of a spoken answer.
type chatAudio struct {
	id    string
	data  []byte
	text  []byte
	extra llm.Extra
	seen  bool
}

func (a *chatAudio) add(d *decoder, v []byte) {
	a.seen = true
	for key, val := range d.members(v) {
		switch string(key) {
		case "id":
			a.id = d.str(val)
		case "data":
			a.data = append(a.data, d.data(val)...)
		case "transcript":
			if d.oneOf(val, `"`, "a string") {
				a.text = js.AppendText(a.text, val)
			}
		default:
			d.extra(&a.extra, key, val)
		}
	}
	if len(a.data) > maxArgs {
		d.want(v, "shorter")
	}
}

func (a *chatAudio) media(d *decoder) (llm.Media, bool) {
	if !a.seen {
		return llm.Media{}, false
	}
	if len(a.text) > 0 {
		d.extraNamed(&a.extra, "transcript", js.AppendQuoted(nil, a.text))
	}
	return llm.Media{Kind: llm.Audio, ID: a.id, Data: a.data, Extra: a.extra}, true
}
