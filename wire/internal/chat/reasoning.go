package chat

import (
	"bytes"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// reasoningDetails are the pieces of OpenRouter's reasoning_details, which must go back unchanged. They are joined
// once, at the end. A relay that becomes a translation sends those that its client does not have.
type reasoningDetails struct {
	pieces [][]byte
	size   int // bytes of them
}

// grows are the members that come in pieces; the others are said once.
var grows = map[string]bool{"text": true, "summary": true, "data": true}

// Bounds of the details of one thinking.
const (
	maxDetails     = 1 << 16 // pieces
	maxDetailBytes = 32 << 20
)

// add takes a piece, and reports whether there is room for it. Without that none is kept: what lacks a piece cannot go back.
func (r *reasoningDetails) add(v []byte) bool {
	if r.size += len(v); len(r.pieces) >= maxDetails || r.size > maxDetailBytes {
		r.pieces, r.size = nil, maxDetailBytes+1
		return false
	}
	r.pieces = append(r.pieces, slices.Clone(v))
	return true
}

// detail is an item that pieces were joined to.
type detail map[string]*detailMember

// detailMember is a member of it: a value, or the text of several.
type detailMember struct {
	value  []byte
	text   []byte
	joined bool
}

func (m *detailMember) add(v []byte, grows bool) {
	if !grows || js.Kind(v) != '"' || js.Kind(m.value) != '"' {
		*m = detailMember{value: v}
		return
	}
	if !m.joined {
		m.joined, m.text = true, js.AppendText(nil, m.value)
	}
	m.text = js.AppendText(m.text, v)
}

// items joins the pieces after the first from pieces, by index and type.
func (r *reasoningDetails) items(from int) []detail {
	var items []detail
	places := make(map[string]int)
	for _, piece := range r.pieces[from:] {
		item := make(detail)
		at := len(items)
		if index := js.Get(piece, "index"); index != nil && js.Kind(index) != 'n' {
			key := string(index) + " " + string(js.Get(piece, "type"))
			if old, ok := places[key]; ok {
				at, item = old, items[old]
			}
			places[key] = at
		}
		if at == len(items) {
			items = append(items, item)
		}
		for key, v := range js.Members(piece) {
			switch m := item[string(key)]; {
			case js.Kind(v) == 'n':
			case m == nil:
				item[string(key)] = &detailMember{value: v}
			default:
				m.add(v, grows[string(key)])
			}
		}
	}
	return items
}

// object returns {"reasoning_details":[…]} of the pieces after the first from ones, and nil if there are none.
func (r *reasoningDetails) object(from int) []byte {
	if r == nil || len(r.pieces) <= from {
		return nil
	}
	var w js.Writer
	w.Object()
	w.ArrayField("reasoning_details")
	for _, item := range r.items(from) {
		w.Object()
		for _, key := range js.Keys(item) {
			w.AnyKey(key)
			if m := item[key]; m.joined {
				w.Raw(js.AppendQuoted(nil, m.text))
			} else {
				w.Raw(m.value)
			}
		}
		w.End()
	}
	w.EndArray()
	w.End()
	return w.Buf
}

// rest returns what a client lacks of those details that it has the first had pieces of, where all is their object. It reports false if they are others.
func (r *reasoningDetails) rest(had int, all []byte) ([]byte, bool) {
	if r == nil || had == 0 || had > len(r.pieces) || len(all) == 0 || !bytes.Equal(all, r.object(0)) {
		return nil, false
	}
	return r.object(had), true
}

func detailText(d *codec.Decoder, v []byte) string {
	if text := d.Get(v, "text"); text != nil {
		return d.Text(text)
	}
	return d.Text(d.Get(v, "summary"))
}

// audio joins the pieces of a spoken answer.
type audio struct {
	id    string
	data  []byte
	text  []byte
	extra llm.Extra
	seen  bool
}

func (a *audio) add(d *codec.Decoder, v []byte) {
	a.seen = true
	for key, val := range d.Members(v) {
		switch string(key) {
		case "id":
			a.id = d.Str(val)
		case "data":
			a.data = append(a.data, d.Data(val)...)
		case "transcript":
			if d.OneOf(val, `"`, "a string") {
				a.text = js.AppendText(a.text, val)
			}
		default:
			d.Extra(&a.extra, key, val)
		}
	}
	if len(a.data) > codec.MaxArgs {
		d.Want(v, "shorter")
	}
}

func (a *audio) media(d *codec.Decoder) (llm.Media, bool) {
	if !a.seen {
		return llm.Media{}, false
	}
	if len(a.text) > 0 {
		d.ExtraField(&a.extra, "transcript", js.AppendQuoted(nil, a.text))
	}
	return llm.Media{Kind: llm.Audio, ID: a.id, Data: a.data, Extra: a.extra}, true
}
