package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// keyword is a keyword that a field's tags may give: the type of its value,
// whether it is about an array rather than its items, and whether it has a tag
// of its own beside jsonschema.
type keyword struct {
	name    string
	kind    Types
	ofArray bool
	ownTag  bool
}

var tagKeywords = []keyword{
	{"description", String, true, true}, {"title", String, true, false}, {"format", String, false, true}, {"pattern", String, false, true},
	{"minimum", Number, false, true}, {"maximum", Number, false, true}, {"exclusiveMinimum", Number, false, true}, {"exclusiveMaximum", Number, false, true},
	{"multipleOf", Number, false, true}, {"minLength", Integer, false, true}, {"maxLength", Integer, false, true},
	{"minItems", Integer, true, true}, {"maxItems", Integer, true, true}, {"uniqueItems", Boolean, true, true},
	{"deprecated", Boolean, true, false}, {"readOnly", Boolean, true, false}, {"writeOnly", Boolean, true, false},
}

// tags is what the tags of a field say.
type tags struct {
	said     map[string]string // keyword to value
	enum     []string
	examples []string
	required bool
}

// readTags reads the tags of a field.
func readTags(f reflect.StructField, where string) (tags, error) {
	t := tags{said: make(map[string]string)}
	for _, k := range tagKeywords {
		if s, ok := f.Tag.Lookup(k.name); ok && k.ownTag {
			t.said[k.name] = s
		}
	}
	if s, ok := f.Tag.Lookup("default"); ok {
		t.said["default"] = s
	}
	if s, ok := f.Tag.Lookup("enum"); ok {
		for word := range strings.SplitSeq(s, ",") {
			t.enum = append(t.enum, strings.TrimSpace(word))
		}
	}
	if s, ok := f.Tag.Lookup("jsonschema_description"); ok {
		if err := t.say("description", s, where); err != nil {
			return t, err
		}
	}
	if _, ok := f.Tag.Lookup("jsonschema_extras"); ok {
		return t, fmt.Errorf("%s: the tag jsonschema_extras is not supported", where)
	}
	return t, t.jsonschema(f.Tag.Get("jsonschema"), where)
}

// say adds a keyword, which must not have been given before.
func (t *tags) say(name, value, where string) error {
	if have, ok := t.said[name]; ok && have != value {
		return fmt.Errorf("%s: its tags give %s twice, as %q and as %q", where, name, have, value)
	}
	t.said[name] = value
	return nil
}

// jsonschema reads the tag of that name, which two libraries have made known: a
// list like "required,minimum=1,enum=a,enum=b", or only a description. A comma
// inside a value is written \\, as there.
func (t *tags) jsonschema(tag, where string) error {
	if tag == "" {
		return nil
	}
	items := splitTag(tag)
	if key, _, pair := strings.Cut(items[0], "="); items[0] != "required" && !(pair && isWord(key)) {
		return t.say("description", tag, where)
	}
	for _, item := range items {
		if err := t.item(strings.TrimSpace(item), where); err != nil {
			return err
		}
	}
	return nil
}

func (t *tags) item(item, where string) error {
	key, value, pair := strings.Cut(item, "=")
	switch {
	case item == "required":
		t.required = true
		return nil
	case key == "enum" && pair:
		t.enum = append(t.enum, value)
		return nil
	case key == "example" && pair:
		t.examples = append(t.examples, value)
		return nil
	case key == "default" && pair:
		return t.say(key, value, where)
	}
	i := slices.IndexFunc(tagKeywords, func(k keyword) bool { return k.name == key })
	switch {
	case i < 0:
		return fmt.Errorf("%s: the tag jsonschema has %q, which is not supported; it takes required, enum=, example=, default=, %s, or a description alone", where, item, keywordList())
	case !pair && tagKeywords[i].kind == Boolean:
		value = "true"
	case !pair:
		return fmt.Errorf("%s: the tag jsonschema has %q without a value", where, key)
	}
	return t.say(key, value, where)
}

func keywordList() string {
	var names []string
	for _, k := range tagKeywords {
		names = append(names, k.name+"=")
	}
	return strings.Join(names, ", ")
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' })
}

// splitTag splits at commas that have no backslash before them.
func splitTag(tag string) []string {
	var out []string
	var b strings.Builder
	for i := 0; i < len(tag); i++ {
		switch {
		case tag[i] == '\\' && i+1 < len(tag) && tag[i+1] == ',':
			b.WriteByte(',')
			i++
		case tag[i] == ',':
			out = append(out, b.String())
			b.Reset()
		default:
			b.WriteByte(tag[i])
		}
	}
	return append(out, b.String())
}

// apply adds what the tags say to the schema of their field.
func (t tags) apply(p *node, where string) error {
	values := p
	if items := p.get("items"); items != nil {
		values = items
	}
	for _, k := range tagKeywords {
		s, ok := t.said[k.name]
		if !ok {
			continue
		}
		on := values
		if k.ofArray {
			on = p
		}
		if want := appliesTo[k.name]; want != 0 && meet(want, ownTypes(on)) == 0 {
			return fmt.Errorf("%s: the tag %s means nothing for %s", where, k.name, ownTypes(on))
		}
		v, ok := k.kind.Typed(s)
		if !ok {
			return fmt.Errorf("%s: the tag %s is %q, which is no %s", where, k.name, s, k.kind)
		}
		if k.name == "pattern" {
			if _, err := compilePattern(s); err != nil {
				return fmt.Errorf("%s: the pattern %q cannot be run: %w", where, s, err)
			}
		}
		on.set(k.name, mustNode(string(v)))
	}
	return t.applyValues(p, values, where)
}

// applyValues adds enum, examples and default.
func (t tags) applyValues(p, values *node, where string) error {
	for _, list := range []struct {
		keyword, name string
		words         []string
	}{{"enum", "enum value", t.enum}, {"examples", "example", t.examples}} {
		if len(list.words) == 0 {
			continue
		}
		n := array()
		for _, word := range list.words {
			v, ok := ownTypes(values).Typed(word)
			if !ok {
				return fmt.Errorf("%s: the %s %q is no %s", where, list.name, word, ownTypes(values))
			}
			n.list = append(n.list, mustNode(string(v)))
		}
		values.set(list.keyword, n)
	}
	if s, ok := t.said["default"]; ok {
		v, ok := ownTypes(p).Typed(s)
		if !ok {
			return fmt.Errorf("%s: the default %q is no %s", where, s, ownTypes(p))
		}
		p.set("default", mustNode(string(v)))
	}
	return nil
}
