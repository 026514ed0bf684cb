package codingagents

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// yamlText renders a tree as YAML in block style.
func yamlText(v any, indent string) string {
	var b strings.Builder
	switch v := v.(type) {
	case object:
		for _, m := range v {
			b.WriteString(indent + yamlScalar(m.key) + ":" + yamlValue(m.value, indent) + "\n")
		}
	case []any:
		for _, e := range v {
			if o, ok := e.(object); ok && len(o) > 0 {
				b.WriteString(indent + "- " + strings.TrimPrefix(yamlText(o, indent+"  "), indent+"  "))
				continue
			}
			b.WriteString(indent + "- " + yamlScalar(e) + "\n")
		}
	default:
		b.WriteString(indent + yamlScalar(v) + "\n")
	}
	return b.String()
}

// yamlValue renders what follows a key and its colon.
func yamlValue(v any, indent string) string {
	switch x := v.(type) {
	case object:
		if len(x) == 0 {
			return " {}"
		}
		return "\n" + strings.TrimSuffix(yamlText(x, indent+"  "), "\n")
	case []any:
		if !slices.ContainsFunc(x, func(e any) bool { _, ok := e.(object); return ok }) {
			var parts []string
			for _, e := range x {
				parts = append(parts, yamlScalar(e))
			}
			return " [" + strings.Join(parts, ", ") + "]"
		}
		return "\n" + strings.TrimSuffix(yamlText(x, indent+"  "), "\n")
	}
	return " " + yamlScalar(v)
}

var plainYAML = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./:+-]*$`)

// yamlScalar renders a value without parts, in quotes if it could mean something else without.
func yamlScalar(v any) string {
	s, ok := v.(string)
	if ok && plainYAML.MatchString(s) && !strings.HasSuffix(s, ":") && !slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}, strings.ToLower(s)) {
		return s
	}
	return scalar(v)
}

// readYAML returns the tree of a file.
func readYAML(text string) (any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s", yaml.FormatError(err, false, false))
	}
	if strings.TrimSpace(string(b)) == "" || !json.Valid(b) {
		return nil, nil
	}
	return parseTree(string(b))
}

// editYAML merges a tree into the text of a file. The rest of the text is unchanged.
func editYAML(text string, with any) (string, error) {
	before, err := readYAML(text)
	if err != nil {
		return "", err
	}
	if before == nil {
		if strings.TrimSpace(text) != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + yamlText(with, ""), nil
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	lines, err = yamlMerge(lines, 0, len(lines), before, with)
	if err != nil {
		return "", err
	}
	out := strings.Join(lines, "\n") + "\n"
	if after, err := readYAML(out); err != nil || !equalTrees(after, merged(before, with)) {
		return "", errByHand
	}
	return out, nil
}

// yamlMerge merges a tree into the lines from..to, which hold the value before in block style.
func yamlMerge(lines []string, from, to int, before, with any) ([]string, error) {
	if equalTrees(merged(before, with), before) {
		return lines, nil
	}
	items, indent := yamlParts(lines, from, to)
	if items == nil {
		return nil, errByHand
	}
	pad := strings.Repeat(" ", indent)
	end := items[len(items)-1].end
	switch with := with.(type) {
	case object:
		old, ok := before.(object)
		if !ok {
			return nil, errByHand
		}
		var added []string
		for _, m := range slices.Backward(with) { // from the end, because the numbers of earlier lines then stay valid
			if _, ok := old.get(m.key); !ok {
				added = append(strings.Split(strings.TrimSuffix(yamlText(object{m}, pad), "\n"), "\n"), added...)
			}
		}
		lines = slices.Insert(slices.Clone(lines), end, added...)
		slices.SortStableFunc(items, func(a, b yamlPart) int { return b.start - a.start })
		for _, p := range items {
			want, ok := with.get(p.key)
			v, _ := old.get(p.key)
			if !ok || equalTrees(merged(v, want), v) {
				continue
			}
			var err error
			if hasParts(v) && hasParts(want) {
				if lines, err = yamlMerge(lines, p.start+1, p.end, v, want); err != nil {
					return nil, err
				}
				continue
			}
			head := lines[p.start][:p.value] // the key, perhaps after a dash
			text := strings.Split(head+yamlValue(want, pad)+yamlComment(lines[p.start:p.end], p.value), "\n")
			lines = slices.Replace(lines, p.start, p.end, text...)
		}
		return lines, nil
	case []any:
		old, ok := before.([]any)
		if !ok || len(items) != len(old) {
			return nil, errByHand
		}
		var added []string
		found := map[int]any{}
		for _, v := range with {
			if i := slices.IndexFunc(old, func(o any) bool { return sameElement(o, v) }); i >= 0 {
				found[i] = v
			} else {
				added = append(added, strings.Split(strings.TrimSuffix(yamlText([]any{v}, pad), "\n"), "\n")...)
			}
		}
		lines = slices.Insert(slices.Clone(lines), end, added...)
		for i, p := range slices.Backward(items) {
			v, ok := found[i]
			if !ok {
				continue
			}
			// The element is read as a mapping, with white space in place of the dash.
			first := lines[p.start]
			lines[p.start] = first[:indent] + " " + first[indent+1:]
			var err error
			if lines, err = yamlMerge(lines, p.start, p.end, old[i], v); err != nil {
				return nil, err
			}
			lines[p.start] = lines[p.start][:indent] + "-" + lines[p.start][indent+1:]
		}
		return lines, nil
	}
	return nil, errByHand
}

func hasParts(v any) bool {
	switch v := v.(type) {
	case object:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// A yamlPart is a key of a mapping or an element of a list, with the lines of its value.
type yamlPart struct {
	key        string
	value      int // place after the colon in the first line
	start, end int
}

var yamlKey = regexp.MustCompile(`^( *)("[^"]*"|'[^']*'|[^\s"'#\[\]{},&*!|>%@-][^\s:#]*(?:[^:#\s]|:[^\s])*?)\s*:(?:\s|$)`)

// yamlParts finds the parts of a block with their indent, nil if it is written in another style.
func yamlParts(lines []string, from, to int) (parts []yamlPart, indent int) {
	indent = -1
	for i := from; i < to; i++ {
		line := strings.TrimSuffix(lines[i], "\r")
		body := strings.TrimLeft(line, " ")
		if body == "" || body[0] == '#' || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "%") {
			continue
		}
		at := len(line) - len(body)
		if indent < 0 {
			indent = at
		}
		if at != indent {
			if at < indent {
				return nil, 0
			}
			continue
		}
		p := yamlPart{start: i}
		switch m := yamlKey.FindStringSubmatchIndex(line); {
		case body == "-" || strings.HasPrefix(body, "- "):
			if len(parts) > 0 && parts[0].key != "" { // a list at the indent of its key
				continue
			}
		case m != nil:
			p.key = strings.Trim(line[m[4]:m[5]], `"'`)
			p.value = strings.IndexByte(line[m[5]:], ':') + m[5] + 1
		default:
			return nil, 0
		}
		parts = append(parts, p)
	}
	for i := range parts {
		end := to
		if i+1 < len(parts) {
			end = parts[i+1].start
		}
		for end > parts[i].start+1 { // comments and blank lines belong to what follows
			body := strings.TrimSpace(lines[end-1])
			if body != "" && body[0] != '#' {
				break
			}
			end--
		}
		parts[i].end = end
	}
	return parts, indent
}

var yamlTail = regexp.MustCompile(`\s+#.*$`)

// yamlComment returns the comment after a value of one line.
func yamlComment(lines []string, value int) string {
	if len(lines) != 1 {
		return ""
	}
	rest := lines[0][value:]
	if strings.ContainsAny(rest, `"'`) {
		rest = rest[max(strings.LastIndexByte(rest, '"'), strings.LastIndexByte(rest, '\''))+1:]
	}
	return yamlTail.FindString(rest)
}
