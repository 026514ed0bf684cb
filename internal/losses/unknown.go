package losses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// marker is the name of a member that no format knows, and its value.
const marker = "zzplugh"

// Unknown returns the objects of a request in which an unknown member is lost silently: it is not sent on, and neither
// a warning nor an error names it. An object that is not sent at all does not count if a warning reports that.
func Unknown(c wire.Codec, to string, body []byte) ([]string, error) {
	return UnknownAfter(c, to, body, nil)
}

// UnknownAfter is [Unknown] for a server that changes requests, such as a server that teaches tools in a prompt.
func UnknownAfter(c wire.Codec, to string, body []byte, change Change) ([]string, error) {
	whole, err := parse(body)
	if err != nil {
		return nil, err
	}
	u := unknown{codec: c, to: to, whole: whole, change: change}
	if u.base, err = u.translate(); err != nil && llm.KindOf(err) != llm.Unsupported {
		return nil, err
	}
	walk(whole, place{set: func(any) {}}, func(v any, at place) bool {
		object, ok := v.(map[string]any)
		if !ok {
			return true
		}
		at.path = append(slices.Clone(at.path), kinds(object)...)
		if free(at.path) || to != c.Format && slices.Contains(at.path, "reasoning_details") || // vendor state, which no other vendor receives
			u.left(object, at) {
			return false
		}
		u.mark(object, at.path)
		return true
	})
	return u.silent, nil
}

type unknown struct {
	codec  wire.Codec
	to     string
	change Change
	whole  any
	base   Translation // of the unchanged request
	silent []string
}

// left reports whether an object is omitted with a warning.
func (u *unknown) left(v map[string]any, at place) bool {
	path := at.path
	switch {
	case len(path) == 0:
		return false
	case slices.ContainsFunc(u.base.Warnings, func(w llm.Warning) bool {
		return slices.Contains(path, w.Feature) && strings.HasPrefix(w.Detail, "only the ")
	}):
		return true
	case slices.ContainsFunc(kinds(v), u.base.opaque):
		return true
	}
	at.cut()
	less, err := u.translate()
	at.set(v)
	return err == nil && bytes.Equal(less.Out, u.base.Out) && (!slices.Equal(less.Warnings, u.base.Warnings) || slices.ContainsFunc(path, u.base.speaks))
}

// opaque reports whether a warning reports that objects of a kind are not sent, or only their text.
func (t Translation) opaque(kind string) bool {
	word := strings.TrimPrefix(kind, kindMark)
	return slices.ContainsFunc(t.Warnings, func(w llm.Warning) bool {
		return w.Feature == "opaque part" && strings.Contains(w.Detail, strconv.Quote(word)) || w.Feature == word && w.Code == llm.Degraded ||
			word == "reasoning" && t.named(kind)
	})
}

// speaks reports whether a warning names a member of a path, or the kind of object there.
func (t Translation) speaks(of string) bool {
	quoted := strconv.Quote(strings.TrimPrefix(of, kindMark))
	return t.named(of) || slices.ContainsFunc(t.Warnings, func(w llm.Warning) bool { return strings.Contains(w.Detail, quoted) })
}

// mark adds the marker to an object, and records where it is lost.
func (u *unknown) mark(v map[string]any, path []string) {
	v[marker] = marker
	defer delete(v, marker)
	t, err := u.translate()
	switch {
	case err != nil && (llm.KindOf(err) == llm.Unsupported || strings.Contains(err.Error(), marker)):
	case err != nil:
		u.silent = append(u.silent, fmt.Sprintf("%s: the error does not name it: %v", strings.Join(path, "."), err))
	case bytes.Contains(t.Out, []byte(marker)), t.tells(marker):
	case !slices.Equal(t.Warnings, u.base.Warnings) && t.tells(holder(path)):
	default:
		u.silent = append(u.silent, strings.Join(path, "."))
	}
}

// holder is the name of the member that contains an object.
func holder(path []string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if strings.Trim(path[i], "0123456789") != "" && !strings.HasPrefix(path[i], kindMark) {
			return path[i]
		}
	}
	return marker
}

// tells reports whether a warning mentions a member.
func (t Translation) tells(member string) bool {
	return slices.ContainsFunc(t.Warnings, func(w llm.Warning) bool {
		return strings.Contains(w.Feature, member) || strings.Contains(w.Detail, member)
	})
}

func (u *unknown) translate() (Translation, error) {
	body, err := json.Marshal(u.whole)
	if err != nil {
		return Translation{}, err
	}
	return translate(u.codec, u.to, body, u.change)
}

// data are members that hold data of any form, with the reason why they are not examined. Schemas, arguments and
// metadata are not among them: their content is sent on.
var data = map[string]string{
	"extra_content": "state of the vendor, which nobody else is given",
}

// free reports whether a path leads to, or into, data of any form.
func free(path []string) bool {
	return slices.ContainsFunc(path, func(member string) bool { return data[member] != "" })
}
