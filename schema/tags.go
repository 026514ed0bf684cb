package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// keyword is a keyword that a field's tags may give: the type of its value, whether it
// is about an array rather than its items, and whether it has a separate tag in
// addition to jsonschema.
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

// jsonschema reads the tag of that name, which two libraries have made known: a list
// like "required,minimum=1,enum=a,enum=b", or only a description. A comma inside a
// value is written \\, as there. It is a list if it begins with required, if a part of
// it is word=value, or if all of its words are, or nearly are, words of a list.
func (t *tags) jsonschema(tag, where string) error {
	if tag == "" {
		return nil
	}
	items := splitTag(tag)
	pair := func(item string) bool {
		key, _, pair := strings.Cut(strings.TrimSpace(item), "=")
		return pair && isWord(key)
	}
	prose := func(item string) bool { return meant(strings.TrimSpace(item)) == "" }
	if items[0] != "required" && !slices.ContainsFunc(items, pair) && slices.ContainsFunc(items, prose) {
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
		like := ""
		if word := meant(key); word != "" && word != key {
			like = fmt.Sprintf(" (did you mean %q?)", word)
		}
		return fmt.Errorf("%s: the tag jsonschema has %q, which is not supported%s; it takes required, enum=, example=, default=, %s, or a description alone, which may be written description=", where, item, like, keywordList())
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

// meant returns the word of a list that a word is, or is one or two wrong letters
// away from; "" if it is none. A word that only other libraries know is its own.
func meant(word string) string {
	if word == "nullable" {
		return word
	}
	known := []string{"required", "enum", "example", "default"}
	for _, k := range tagKeywords {
		known = append(known, k.name)
	}
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, word) }); i >= 0 {
		return known[i]
	}
	for _, k := range known {
		if isWord(word) && mistyped(strings.ToLower(word), strings.ToLower(k)) {
			return k
		}
	}
	return ""
}

// mistyped reports whether a word is another with a letter too many, too few, wrong,
// or changed with the next; of a long word two letters may be wrong. A short word that
// far away may be another word: time is not title.
func mistyped(word, known string) bool {
	if len(known) >= 8 && near(word, known) {
		return true
	}
	for word != "" && known != "" && word[0] == known[0] {
		word, known = word[1:], known[1:]
	}
	for word != "" && known != "" && word[len(word)-1] == known[len(known)-1] {
		word, known = word[:len(word)-1], known[:len(known)-1]
	}
	return len(word) <= 1 && len(known) <= 1 ||
		len(word) == 2 && len(known) == 2 && word[0] == known[1] && word[1] == known[0]
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' })
}

// splitTag splits at commas that do not follow a backslash.
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
		if err := usable(k.name, s, where); err != nil {
			return err
		}
		on.set(k.name, mustNode(string(v)))
	}
	for _, n := range []*node{p, values} {
		if err := contradicts(n, where); err != nil {
			return err
		}
	}
	return t.applyValues(p, values, where)
}

// knownFormats are the formats of JSON Schema and OpenAPI, and the other formats that
// are checked.
var knownFormats = []string{
	"date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6",
	"uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer", "relative-json-pointer", "regex",
	"period", "semver", "int32", "int64", "float", "double", "byte", "binary", "password",
}

// usable returns an error if the text of a tag means nothing.
func usable(name, s, where string) error {
	switch name {
	case "pattern":
		if _, err := compilePattern(s); err != nil {
			return fmt.Errorf("%s: the pattern %q cannot be run: %w", where, s, err)
		}
	case "format":
		if !slices.Contains(knownFormats, s) {
			return fmt.Errorf("%s: the format %q is not known.%s The formats are %s", where, s, didYouMean(s, knownFormats), strings.Join(knownFormats, ", "))
		}
	}
	return nil
}

// ranges are keywords of which the first must not be greater than the second, nor
// the same where the bound itself is excluded.
var ranges = []struct {
	least, most string
	open        bool
}{
	{"minimum", "maximum", false}, {"minLength", "maxLength", false}, {"minItems", "maxItems", false},
	{"exclusiveMinimum", "maximum", true}, {"minimum", "exclusiveMaximum", true}, {"exclusiveMinimum", "exclusiveMaximum", true},
}

// contradicts returns an error if no value can match the bounds of a schema.
func contradicts(n *node, where string) error {
	for _, r := range ranges {
		least, most := n.get(r.least), n.get(r.most)
		if least == nil || most == nil {
			continue
		}
		a, err := strconv.ParseFloat(least.text, 64)
		b, err2 := strconv.ParseFloat(most.text, 64)
		if err == nil && err2 == nil && (a > b || r.open && least.text == most.text) {
			return fmt.Errorf("%s: nothing matches %s %s and %s %s", where, r.least, least.text, r.most, most.text)
		}
	}
	return nil
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
