package codingagents

import (
	"fmt"
	"slices"
	"strings"
)

// A jsonNode is a value of a JSON file and its place. Files may have comments and trailing commas.
type jsonNode struct {
	start, end int
	value      any // without its places
	members    []jsonMember
	elements   []jsonNode
}

type jsonMember struct {
	key  string
	node jsonNode
}

// maxDepth limits how deep a file may nest.
const maxDepth = 200

// jsonReader reads JSON with comments.
type jsonReader struct {
	text string
	at   int
}

// parseJSON parses a whole file.
func parseJSON(text string) (jsonNode, error) {
	r := &jsonReader{text: text}
	if strings.HasPrefix(text, "\ufeff") {
		r.at = len("\ufeff")
	}
	n, err := r.node(0)
	if err == nil {
		if r.skip(); r.at < len(text) {
			err = fmt.Errorf("%q follows the value", r.text[r.at:min(len(text), r.at+10)])
		}
	}
	if err != nil {
		return n, fmt.Errorf("line %d: %w", 1+strings.Count(text[:min(r.at, len(text))], "\n"), err)
	}
	return n, nil
}

// skip skips white space and comments.
func (r *jsonReader) skip() {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			r.at++
		case strings.HasPrefix(rest, "//"):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				r.at += i
			} else {
				r.at = len(r.text)
			}
		case strings.HasPrefix(rest, "/*"):
			if i := strings.Index(rest[2:], "*/"); i >= 0 {
				r.at += i + 4
			} else {
				r.at = len(r.text)
			}
		default:
			return
		}
	}
}

func (r *jsonReader) node(depth int) (n jsonNode, err error) {
	r.skip()
	if depth > maxDepth {
		return n, fmt.Errorf("values nest more than %d deep", maxDepth)
	}
	if r.at == len(r.text) {
		return n, fmt.Errorf("the file ends where a value is expected")
	}
	n.start = r.at
	switch c := r.text[r.at]; c {
	case '{', '[':
		n, err = r.parts(c, depth)
	default:
		n.value, err = r.scalar()
	}
	n.end = r.at
	return n, err
}

// parts reads an object or a list.
func (r *jsonReader) parts(open byte, depth int) (n jsonNode, err error) {
	n.start = r.at
	r.at++
	obj, list := object{}, []any{}
	for {
		r.skip()
		if r.at == len(r.text) {
			return n, fmt.Errorf("the file ends before the closing %c", open+2)
		}
		if r.text[r.at] == open+2 {
			r.at++
			n.value = any(list)
			if open == '{' {
				n.value = obj
			}
			return n, nil
		}
		var key string
		if open == '{' {
			k, err := r.scalar()
			s, ok := k.(string)
			if err != nil || !ok {
				return n, fmt.Errorf("a name in quotes is expected")
			}
			if r.skip(); r.at == len(r.text) || r.text[r.at] != ':' {
				return n, fmt.Errorf("a colon is expected after %q", s)
			}
			r.at++
			key = s
		}
		v, err := r.node(depth + 1)
		if err != nil {
			return n, err
		}
		if open == '{' {
			n.members, obj = append(n.members, jsonMember{key, v}), append(obj, member{key, v.value})
		} else {
			n.elements, list = append(n.elements, v), append(list, v.value)
		}
		r.skip()
		switch {
		case r.at < len(r.text) && r.text[r.at] == ',':
			r.at++
		case r.at < len(r.text) && r.text[r.at] != open+2:
			return n, fmt.Errorf("a comma or %c is expected", open+2)
		}
	}
}

// scalar reads a string, a number, true, false or null.
func (r *jsonReader) scalar() (any, error) {
	end := r.at + 1
	if r.text[r.at] == '"' {
		for end < len(r.text) && r.text[end] != '"' {
			if r.text[end] == '\\' {
				end++
			}
			end++
		}
		end++
	} else {
		for end < len(r.text) && !strings.ContainsRune(" \t\r\n,:]}/", rune(r.text[end])) {
			end++
		}
	}
	word := r.text[r.at:min(end, len(r.text))]
	v, err := parseTree(word)
	if err != nil {
		return nil, fmt.Errorf("%q is not JSON", word[:min(len(word), 20)])
	}
	r.at = min(end, len(r.text))
	return v, nil
}

// editJSON merges a tree into the text of a file. The rest of the text is unchanged.
func editJSON(text string, with any) (string, error) {
	root, err := parseJSON(text)
	if err != nil {
		return "", err
	}
	e := jsonEdit{text: text}
	e.merge(root, with)
	slices.SortStableFunc(e.changes, func(a, b jsonChange) int { return b.start - a.start })
	for _, c := range e.changes {
		text = text[:c.start] + c.text + text[c.end:]
	}
	after, err := parseJSON(text)
	if err != nil || !equalTrees(after.value, merged(root.value, with)) {
		return "", errByHand
	}
	return text, nil
}

// readJSON returns the tree of a file.
func readJSON(text string) (any, error) {
	n, err := parseJSON(text)
	return n.value, err
}

type jsonChange struct {
	start, end int
	text       string
}

type jsonEdit struct {
	text    string
	changes []jsonChange
}

func (e *jsonEdit) merge(n jsonNode, with any) {
	if equalTrees(merged(n.value, with), n.value) {
		return
	}
	switch with := with.(type) {
	case object:
		if _, ok := n.value.(object); !ok {
			break
		}
		var added []string
		for _, m := range with {
			i := lastMember(n.members, m.key)
			if i >= 0 {
				e.merge(n.members[i].node, m.value)
				continue
			}
			added = append(added, quoted(m.key)+": "+jsonText(m.value, e.inner(n)))
		}
		last := -1
		if len(n.members) > 0 {
			last = n.members[len(n.members)-1].node.end
		}
		e.add(n, last, added)
		return
	case []any:
		if _, ok := n.value.([]any); !ok {
			break
		}
		var added []string
		for _, v := range with {
			i := slices.IndexFunc(n.elements, func(x jsonNode) bool { return sameElement(x.value, v) })
			if i >= 0 {
				e.merge(n.elements[i], v)
				continue
			}
			added = append(added, jsonText(v, e.inner(n)))
		}
		last := -1
		if len(n.elements) > 0 {
			last = n.elements[len(n.elements)-1].end
		}
		e.add(n, last, added)
		return
	}
	e.changes = append(e.changes, jsonChange{n.start, n.end, jsonText(with, e.indent(n.start))})
}

func lastMember(list []jsonMember, key string) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].key == key {
			return i
		}
	}
	return -1
}

// add adds parts at the end of an object or a list whose last part ends at last, or is empty if last is less than 0.
func (e *jsonEdit) add(n jsonNode, last int, parts []string) {
	if len(parts) == 0 {
		return
	}
	closing := n.end - 1
	end := len(strings.TrimRight(e.text[:closing], " \t\r\n"))
	indent := e.inner(n)
	text := ""
	for i, p := range parts {
		if i > 0 {
			text += ","
		}
		text += "\n" + indent + p
	}
	if last >= 0 {
		r := &jsonReader{text: e.text, at: last}
		if r.skip(); e.text[r.at] != ',' {
			if end == last {
				text = "," + text
			} else {
				e.changes = append(e.changes, jsonChange{last, last, ","})
			}
		}
	}
	e.changes = append(e.changes, jsonChange{end, closing, text + "\n" + e.indent(n.start)})
}

// indent returns the white space at the beginning of the line of a place.
func (e *jsonEdit) indent(at int) string {
	line := e.text[strings.LastIndexByte(e.text[:at], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// inner returns the indent of the parts of an object or a list.
func (e *jsonEdit) inner(n jsonNode) string {
	at := -1
	if len(n.members) > 0 { // the place of the first name
		r := &jsonReader{text: e.text, at: n.start + 1}
		r.skip()
		at = r.at
	} else if len(n.elements) > 0 {
		at = n.elements[0].start
	}
	if at >= 0 && strings.Contains(e.text[n.start:at], "\n") {
		return e.indent(at)
	}
	unit := "  "
	if strings.Contains(e.text, "\n\t") {
		unit = "\t"
	}
	return e.indent(n.start) + unit
}
