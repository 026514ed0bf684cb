package whole

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/schema"
)

// element is an element with its content as text.
type element struct {
	tag   string
	attrs []attr
	inner string
	used  bool
}

// attr is an attribute. In <tag=value> the key is empty.
type attr struct {
	key, value string
	entity     bool // entities were replaced
}

// attr returns the value of the first of the attributes keys that the element has.
func (e *element) attr(keys ...string) (string, bool) {
	for _, key := range keys {
		for _, a := range e.attrs {
			if strings.EqualFold(a.key, key) {
				return a.value, true
			}
		}
	}
	return "", false
}

// nameOf returns the value of the attribute that names a call or a parameter.
func (e *element) nameOf() string {
	s, _ := e.attr("", "name", "key", "tool", "function", "tool_name", "function_name", "param", "id")
	return s
}

// elements splits text into elements. ok is false if anything else but white space is around them.
func elements(text string) (list []element, ok bool) {
	for {
		if text = strings.TrimSpace(text); text == "" {
			return list, len(list) > 0
		}
		e, rest, ok := cutElement(text)
		if !ok {
			return nil, false
		}
		list, text = append(list, e), rest
	}
}

// cutElement reads the element at the beginning of text.
func cutElement(text string) (e element, rest string, ok bool) {
	n, ok := tagName(text, 1)
	if !ok || text[0] != '<' {
		return e, "", false
	}
	name := text[1:n]
	e.tag = name[strings.LastIndexByte(name, ':')+1:] // without its namespace
	end := tagEnd(text, n)
	if end < 0 {
		return e, "", false
	}
	head := strings.TrimSpace(text[n:end])
	head, self := strings.CutSuffix(head, "/")
	if e.attrs, ok = attributes(strings.TrimSpace(head)); !ok || self {
		return e, text[end+1:], ok
	}
	e.inner, rest, ok = contentOf(text[end+1:], name)
	return e, rest, ok
}

// tagName returns the index after the name of a tag at i.
func tagName(text string, i int) (end int, ok bool) {
	for end = i; end < len(text) && (chars.IsNameByte(text[end]) || text[end] >= utf8.RuneSelf || text[end] == '-' || text[end] == ':' || text[end] == '.'); end++ {
	}
	return end, end > i && (chars.IsNameStart(text[i]) || text[i] >= utf8.RuneSelf)
}

// tagEnd returns the index of the sign that ends the tag whose attributes begin at i, -1 if there is none.
func tagEnd(text string, i int) int {
	for quote := byte(0); i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		case c == '<':
			return -1
		}
	}
	return -1
}

// attributes reads the attributes of a tag.
func attributes(s string) (list []attr, ok bool) {
	if value, ok := strings.CutPrefix(s, "="); ok {
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		return []attr{{value: value}}, value != "" && !strings.ContainsAny(value, " \"'<>=")
	}
	for s != "" {
		n, ok := tagName(s, 0)
		rest, found := strings.CutPrefix(strings.TrimLeft(s[n:], " \t\r\n"), "=")
		rest = strings.TrimLeft(rest, " \t\r\n")
		if !ok || !found || rest == "" || rest[0] != '"' && rest[0] != '\'' {
			return nil, false
		}
		value, after, closed := strings.Cut(rest[1:], rest[:1])
		if !closed || after != "" && !chars.IsSpace(after[0]) {
			return nil, false
		}
		plain := values.UnescapeXML(value)
		key := s[strings.LastIndexByte(s[:n], ':')+1 : n] // without its namespace
		if strings.HasPrefix(s, "xmlns") {
			key = "xmlns"
		}
		list = append(list, attr{key, plain, plain != value})
		s = strings.TrimSpace(after)
	}
	return list, true
}

// contentOf splits text at the end tag of an element. Elements of the same name may be inside.
func contentOf(text, tag string) (inner, rest string, ok bool) {
	depth := 1
	for i := 0; i < len(text); i++ {
		if text[i] != '<' {
			continue
		}
		switch after := text[i+1:]; {
		case strings.HasPrefix(after, "![CDATA["):
			n := strings.Index(after, "]]>")
			if n < 0 {
				return "", "", false
			}
			i += n
		case hasTag(after, tag):
			if end := tagEnd(text, i+1+len(tag)); end < 0 || text[end-1] != '/' {
				depth++
			}
		case strings.HasPrefix(after, "/") && hasTag(after[1:], tag):
			if depth--; depth > 0 {
				continue
			}
			end := strings.IndexByte(after, '>')
			return text[:i], after[end+1:], end >= 0 && strings.TrimSpace(after[1+len(tag):end]) == ""
		}
	}
	return "", "", false
}

// hasTag reports whether text begins with the name of a tag in any letters.
func hasTag(text, tag string) bool {
	return len(text) > len(tag) && strings.EqualFold(text[:len(tag)], tag) && strings.IndexByte(" =/>\t\r\n", text[len(tag)]) >= 0
}

// elements reads elements that make a call: first the name, which may be anywhere, then the rest.
func (r *reading) elements(list []element, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if r.name == "" && !r.findName(list) {
		return false
	}
	for i := range list {
		if e := &list[i]; !e.used && !r.pair(list, i) && !r.element(e, depth) {
			return false
		}
	}
	return true
}

// findName looks for the name of the tool in elements side by side: the content of an element for names. If there is
// none, the elements hold it. It reports false if one of the names is of no offered tool.
func (r *reading) findName(list []element) bool {
	for i := range list {
		e := &list[i]
		tag, text := strings.ToLower(e.tag), strings.TrimSpace(e.inner)
		if PairTag(tag) && i+1 < len(list) && namesTool(text) && r.setName(strings.TrimSpace(list[i+1].inner)) {
			e.used, list[i+1].used, r.named = true, true, true
			return true
		}
		if !namesTool(tag) && !(namesCall(tag, true) || r.names.Offered(text) && (namesCall(tag, false) || !r.isContainer(tag))) || len(e.attrs) > 0 || strings.ContainsAny(text, "<{(\n ") {
			continue
		}
		if !r.setName(text) {
			return false
		}
		e.used, r.named = true, true
		return true
	}
	return true
}

// namesTool reports whether a key is one for the name of a tool.
func namesTool(key string) bool {
	return values.Keys[key] == values.NameRole || values.Keys[key] == values.BothRole
}

// pair reads two elements of which the first one names a parameter and the second one is its value.
func (r *reading) pair(list []element, i int) bool {
	e := &list[i]
	key := strings.TrimSpace(e.inner)
	if r.name == "" || i+1 == len(list) || len(e.attrs) > 0 || r.declares(e.tag) || !PairTag(e.tag) || !r.declares(key) {
		return false
	}
	next := &list[i+1]
	if len(next.attrs) > 0 || !ValueTag(next.tag) {
		return false
	}
	next.used = true
	return r.value(key, next.inner)
}

// parameterTags are tags of parameters that are named by something else.
var parameterTags = set("parameter param arg argument property field prop option arg_key key name arg_name param_name parameter_name parametername dt")

// PairTag reports whether the content of a tag may be the name of a parameter, ValueTag whether it is then the value.
func PairTag(tag string) bool { return parameterTags[strings.ToLower(tag)] }

// ValueTag is described with [PairTag].
func ValueTag(tag string) bool { return valueTags[strings.ToLower(tag)] }

var valueTags = set("value val arg_value argument_value parameter_value dd string integer real number")

// element reads an element of a call.
func (r *reading) element(e *element, depth int) bool {
	tag := strings.ToLower(e.tag)
	switch {
	case r.name == "":
		return r.begins(e, depth)
	case depth == r.depth && r.namesTool(e):
		return r.nextCall() && r.begins(e, depth)
	case r.declares(e.tag) && e.onlyAsides():
		return r.value(e.tag, e.inner)
	case parameterTags[tag] && len(e.attrs) == 0:
		list, ok := elements(e.inner)
		return ok && len(list) == 2 && r.pair(list, 0)
	case r.declares(r.parameterOf(e)) && (parameterTags[tag] || !r.names.Any && !r.isContainer(e.tag)):
		return r.namedParameter(e)
	case r.isContainer(e.tag):
		return r.attributesOf(e, "") && r.arguments(e.inner, depth+1)
	case tag == "id" || tag == "type" || tag == "call_id" || tag == "tool_call_id":
		return len(e.attrs) == 0 && !strings.ContainsAny(e.inner, "<{")
	}
	return false
}

// isContainer reports whether a tag is around all arguments, because the tool has no parameter of that name.
func (r *reading) isContainer(tag string) bool {
	return !r.declares(tag) && (values.Keys[tag] == values.ArgsRole || containers[strings.ToLower(tag)])
}

// containers are further tags around arguments.
var containers = set("arguments parameters params args input inputs with options properties fields kwargs payload body tool_input data")

// begins reads the element that names the tool in its tag or an attribute, or holds elements that do.
func (r *reading) begins(e *element, depth int) bool {
	tag := strings.ToLower(e.tag)
	if r.names.Offered(e.tag) && r.setName(e.tag) {
		r.named, r.depth = true, depth
		return r.attributesOf(e, "") && r.arguments(e.inner, depth+1)
	}
	if a, ok := r.toolAttr(e); ok && r.setName(a.value) {
		r.named, r.depth = true, depth
		return r.attributesOf(e, a.key) && r.arguments(e.inner, depth+1)
	}
	if values.ResultKeys[tag] || !isCallWord(e.tag) || strings.Contains(tag, "respon") || strings.Contains(tag, "output") {
		return false // an element of a document or a result
	}
	return r.attributesOf(e, "") && r.block(e.inner, depth+1)
}

// namesTool reports whether an element names an offered tool in its tag or an attribute.
func (r *reading) namesTool(e *element) bool {
	if r.names.Any || r.declares(e.tag) {
		return false
	}
	_, ok := r.toolAttr(e)
	return ok || r.names.Offered(e.tag)
}

// toolAttr returns the attribute of an element that names a tool: by its key, or because its value is the only name of an
// offered tool.
func (r *reading) toolAttr(e *element) (found attr, ok bool) {
	for _, a := range e.attrs {
		if namesCall(a.key, r.names.Any) && (r.names.Any || r.names.Offered(a.value)) {
			return a, true
		}
	}
	for _, a := range e.attrs {
		if r.names.Offered(a.value) {
			if ok || quotes[strings.ToLower(e.tag)] {
				return attr{}, false
			}
			found, ok = a, true
		}
	}
	return found, ok
}

// quotes are elements of documents whose attributes quote names.
var quotes = set("a img link meta td th code pre span button option")

// namesCall reports whether an attribute may name the tool of a call. If any name is allowed, the type of an element does
// not.
func namesCall(key string, any bool) bool {
	switch key {
	case "", "id":
		return true
	case "type", "fn", "func", "method", "command", "call", "title":
		return !any
	}
	return values.Keys[key] == values.NameRole || values.Keys[key] == values.BothRole
}

// attributesOf reads the attributes of an element except the one called name: arguments, all arguments as an object, and
// ids.
func (r *reading) attributesOf(e *element, name string) bool {
	for _, a := range e.attrs {
		switch {
		case a.key == name:
			name = "\x00"
		case r.declares(a.key):
			if r.unsure = r.unsure || a.entity; !r.addText(a.key, a.value) {
				return false
			}
		case r.isContainer(a.key):
			if !r.addObject(a.value) {
				return false
			}
		case !IsAside(a.key, a.value):
			return false
		}
	}
	return true
}

// onlyAsides reports whether no attribute of an element is its name or a value.
func (e *element) onlyAsides() bool {
	for _, a := range e.attrs {
		if !IsAside(a.key, a.value) {
			return false
		}
	}
	return true
}

// IsAside reports whether an attribute of a call is neither its name nor an argument.
func IsAside(key, value string) bool {
	switch key {
	case "type", "class":
		value = strings.ToLower(value)
		return loose.TypeNames[value] || values.Keys[value] == values.BothRole || isCallWord(value) || value == "raw" || value == "any" || value == "text"
	case "index":
		return chars.IsCounter(value)
	case "string", "required":
		return value == "true" || value == "false"
	}
	return values.Keys[key] == values.IdRole || key == "version" || key == "xmlns" || key == "encoding" || key == "format"
}

// parameterOf returns the name in an attribute of an element: by its key, or because the value of its only attribute is the
// name of a parameter.
func (r *reading) parameterOf(e *element) string {
	if name := e.nameOf(); name != "" || len(e.attrs) != 1 || r.names.Any || !r.declares(e.attrs[0].value) {
		return name
	}
	return e.attrs[0].value
}

// namedParameter reads a parameter that an attribute names. Its value is its content or an attribute.
func (r *reading) namedParameter(e *element) bool {
	value, given := e.attr("value", "val")
	name := r.parameterOf(e)
	for _, a := range e.attrs {
		switch a.key {
		case "", "name", "key", "param":
		case "value", "val":
			r.unsure = r.unsure || a.entity
		default:
			if a.value != name && !IsAside(a.key, a.value) {
				return false
			}
		}
	}
	switch {
	case !given:
		return r.value(name, e.inner)
	case strings.TrimSpace(e.inner) != "":
		return false
	}
	return r.addText(name, value)
}

// arguments reads the content of a container: elements, an object, or parameters with signs between them.
func (r *reading) arguments(text string, depth int) bool {
	inner := strings.TrimSpace(values.CData(text))
	switch {
	case inner == "":
		return true
	case inner[0] == '{' && json.Valid([]byte(inner)) && r.onlyDeclared(inner):
		return r.addObject(inner)
	}
	return r.block(inner, depth)
}

// onlyDeclared reports whether an object holds arguments and nothing around them.
func (r *reading) onlyDeclared(text string) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil {
		return false
	}
	for key := range object {
		if !r.declares(key) {
			return false
		}
	}
	return true
}

// value reads the content of a parameter.
func (r *reading) value(key, inner string) bool {
	if plain := values.CData(inner); plain != inner {
		return r.addText(key, plain)
	}
	var shape *schema.Shape
	key, _ = r.parameterName(key)
	if r.shape != nil {
		shape = r.shape.Property(key)
	}
	if types := r.types(key); types&schema.String == 0 || strings.Contains(inner, "<") && types&(schema.Object|schema.Array) != 0 {
		for _, same := range r.args {
			if same.key == key {
				return false
			}
		}
		return r.add(key, values.ElementValue(values.Elem{Key: key, Inner: inner}, shape, 0))
	}
	inner = values.Lines(inner)
	if strings.IndexByte(inner, '<') < 0 && strings.IndexByte(inner, '&') >= 0 {
		plain := values.UnescapeXML(inner)
		r.unsure, inner = r.unsure || plain != inner, plain
	}
	return r.addText(key, inner)
}
