package losses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// odd is a word that no request has, and oddNumber a number.
const (
	odd       = "xyzzy"
	oddNumber = "773177"
)

// mistakes are values of each kind, none of which a format gives a meaning.
var mistakes = []any{odd, json.Number(oddNumber), []any{odd}, map[string]any{odd: json.Number(oddNumber)}, true}

// Mistyped returns the members of a request, and the elements of its lists, that can be replaced by a value of another
// kind silently: no error names the member, the value is not passed on, and the warnings are the same as without the
// member.
func Mistyped(c wire.Codec, to string, body []byte) ([]string, error) {
	whole, err := parse(body)
	if err != nil {
		return nil, err
	}
	if _, _, err := c.DecodeRequest(body); err != nil {
		return nil, err
	}
	m := mistyper{codec: c, to: to, whole: whole}
	walk(whole, place{set: func(v any) { m.whole = v }}, func(v any, at place) bool {
		if len(at.path) > 0 {
			m.replace(v, at.path, at.set)
		}
		return true
	})
	return m.silent, nil
}

type mistyper struct {
	codec  wire.Codec
	to     string
	whole  any
	silent []string
}

// replace replaces a value with each mistake in turn.
func (m *mistyper) replace(v any, path []string, set func(any)) {
	right, rightErr := m.translate()
	set(nil) // null counts as a missing member
	without, withoutErr := m.translate()
	idle := rightErr == nil && withoutErr == nil && bytes.Equal(right.Out, without.Out) && slices.Equal(right.Warnings, without.Warnings)
	for _, wrong := range mistakes {
		if fmt.Sprintf("%T", wrong) == fmt.Sprintf("%T", v) {
			continue
		}
		set(wrong)
		t, err := m.translate()
		switch {
		case llm.KindOf(err) == llm.Unsupported: // a tool that the other format lacks
		case err != nil && !names(err, path):
			m.silent = append(m.silent, fmt.Sprintf("%s = %v: the error does not name it: %v", strings.Join(path, "."), wrong, err))
		case err != nil, bytes.Contains(t.Out, []byte(odd)), bytes.Contains(t.Out, []byte(oddNumber)):
		case withoutErr != nil && wrong == true, withoutErr == nil && !slices.Equal(t.Warnings, without.Warnings):
		case wrong == true && !bytes.Equal(t.Out, without.Out):
		case idle: // the other format does not see the right value either, see [Idle]
		case slices.ContainsFunc(path, t.named), t.unread(wrong), coerced(m.codec.Format, path, v, wrong):
		default:
			m.silent = append(m.silent, fmt.Sprintf("%s = %v", strings.Join(path, "."), wrong))
		}
	}
	set(v)
}

// names reports whether an error names a member, or the list that it is an element of.
func names(err error, path []string) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if strings.Trim(path[i], "0123456789") != "" && !strings.HasPrefix(path[i], kindMark) {
			return strings.Contains(err.Error(), path[i])
		}
	}
	return false
}

// coercions are members that accept more than one kind on purpose: a value of another kind may mean the default.
var coercions = []struct{ format, member, value string }{
	{wire.Chat, "image_url", odd},  // the address itself, of lenient clients
	{wire.Ollama, "think", "true"}, // a level, or whether to think
}

// coerced reports whether the member may have the value. A text counts as a list of one text.
func coerced(format string, path []string, right, wrong any) bool {
	if list, ok := right.([]any); ok && len(list) > 0 && wrong == odd {
		_, ok := list[0].(string)
		return ok
	}
	for _, c := range coercions {
		if c.format == format && c.member == path[len(path)-1] && c.value == fmt.Sprint(wrong) {
			return true
		}
	}
	return false
}

// unread reports whether an object became an unknown part, and a warning reports that part.
func (t Translation) unread(wrong any) bool {
	_, object := wrong.(map[string]any)
	return object && slices.ContainsFunc(t.Warnings, func(w llm.Warning) bool { return w.Feature == "opaque part" })
}

func (m *mistyper) translate() (Translation, error) {
	body, err := json.Marshal(m.whole)
	if err != nil {
		return Translation{}, err
	}
	return translate(m.codec, m.to, body, nil)
}
