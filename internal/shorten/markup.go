package shorten

import "strings"

// unmarked returns the text of a document of HTML or XML, and whether something other
// than tags was left out, such as an attribute. Elements are separated by a blank.
// Elements that HTML does not have keep their names and attributes. Text that is not
// such a document as a whole is returned unchanged: a text with a few tags in it, or
// with signs for less and more, loses nothing.
func unmarked(s string) (text string, lost bool) {
	if !document(s) {
		return s, false
	}
	tags := tagsOf(s)
	isMarkup := balanced(tags, declared(s))
	var b strings.Builder
	at := 0
	for _, t := range tags {
		if !isMarkup(t) {
			continue
		}
		b.WriteString(s[at:t.from])
		if at = t.to; t.kind == quotedData {
			b.WriteString(s[t.from+len("<![CDATA[") : t.to-len("]]>")])
			continue
		}
		lost = t.write(&b) || lost
	}
	b.WriteString(s[at:])
	return b.String(), lost
}

// document reports whether a text begins and ends as a document does. A text with a
// document type may break off.
func document(s string) bool {
	t := strings.TrimSpace(s)
	if len(t) < 4 || t[0] != '<' {
		return false
	}
	return declared(t) || t[len(t)-1] == '>' && (strings.Contains(t, "</") || strings.Contains(t, "/>"))
}

// declared reports whether a text begins by saying that it is HTML or XML.
func declared(s string) bool {
	t := strings.TrimSpace(s)
	t = strings.ToLower(t[:min(len(t), 9)])
	return strings.HasPrefix(t, "<!doctype") || strings.HasPrefix(t, "<html") || strings.HasPrefix(t, "<?xml")
}

type tagKind byte

const (
	openTag    tagKind = iota
	closeTag           // </name>
	singleTag          // <name/>
	remark             // a comment or a declaration
	quotedData         // <![CDATA[ ]]>
)

// tag is a possible tag of a document.
type tag struct {
	from, to int
	kind     tagKind
	name     string
	attrs    []attr
}

type attr struct{ name, value string }

// mostTag bounds a tag; a longer one is text.
const mostTag = 16 << 10

// tagsOf returns the possible tags, in order.
func tagsOf(s string) []tag {
	var tags []tag
	for i := 0; ; {
		next := strings.IndexByte(s[i:], '<')
		if next < 0 {
			return tags
		}
		i += next
		if t, ok := tagAt(s[i:min(len(s), i+mostTag)]); ok {
			t.from, t.to = i, i+t.to
			tags = append(tags, t)
			i = t.to
		} else {
			i++
		}
	}
}

// asides are comments and the like, by their beginning and end.
var asides = []struct {
	open, end string
	kind      tagKind
}{{"<!--", "-->", remark}, {"<![CDATA[", "]]>", quotedData}, {"<!", ">", remark}, {"<?", "?>", remark}}

// tagAt reads the tag that a text begins with.
func tagAt(s string) (tag, bool) {
	for _, a := range asides {
		if strings.HasPrefix(s, a.open) {
			end := strings.Index(s[len(a.open):], a.end)
			return tag{to: len(a.open) + end + len(a.end), kind: a.kind}, end >= 0
		}
	}
	t := tag{}
	i := 1
	if i < len(s) && s[i] == '/' {
		t.kind = closeTag
		i++
	}
	n := nameLength(s[i:])
	if n == 0 {
		return t, false
	}
	t.name = s[i : i+n]
	for i += n; i < len(s); {
		rest := strings.TrimLeft(s[i:], " \t\r\n")
		spaced := len(rest) < len(s)-i
		i = len(s) - len(rest)
		switch {
		case strings.HasPrefix(rest, ">"):
			t.to = i + 1
			return t, true
		case strings.HasPrefix(rest, "/>") && t.kind == openTag:
			t.kind, t.to = singleTag, i+2
			return t, true
		case !spaced || t.kind == closeTag:
			return t, false
		}
		a, n := attrAt(rest)
		if n == 0 {
			return t, false
		}
		t.attrs = append(t.attrs, a)
		i += n
	}
	return t, false
}

// nameLength returns the length of the name that a text begins with, 0 if there is none.
func nameLength(s string) int {
	i := 0
	for i < len(s) && (wordly(s[i]) || i > 0 && strings.IndexByte(":_.-", s[i]) >= 0 || s[i] == '_') {
		i++
	}
	if i > 0 && s[0] >= '0' && s[0] <= '9' {
		return 0
	}
	return i
}

// attrAt reads an attribute and returns its length. Attributes without a value must be
// HTML's: "<b and c>" is not a tag.
func attrAt(s string) (attr, int) {
	i := nameLength(s)
	a := attr{name: s[:i]}
	if i == 0 || i >= len(s) || s[i] != '=' {
		if switches[strings.ToLower(a.name)] || strings.Contains(a.name, "-") {
			return a, i
		}
		return a, 0
	}
	i++
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		end := strings.IndexByte(s[i+1:], s[i])
		if end < 0 {
			return a, 0
		}
		a.value = s[i+1 : i+1+end]
		return a, i + end + 2
	}
	end := strings.IndexAny(s[i:], " \t\r\n<>\"'")
	if end <= 0 {
		return a, 0
	}
	a.value = strings.TrimSuffix(s[i:i+end], "/")
	return a, i + end
}

// The names that HTML has: attributes without a value, elements that need no end, and
// elements that do.
var (
	switches = wordSet("async autofocus autoplay checked controls default defer disabled download hidden inert ismap itemscope loop multiple muted nomodule novalidate open readonly required reversed selected nowrap")
	loose    = wordSet("area base br col embed hr img input link meta param source track wbr li p td th tr dt dd option thead tbody tfoot colgroup html head body")
	strict   = wordSet("a abbr address article aside audio b bdi bdo blockquote button canvas caption center cite code data datalist del details dfn dialog div dl em fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 header i iframe ins kbd label legend main map mark menu meter nav noscript object ol optgroup output picture pre progress q rp rt ruby s samp script section select slot small span strong style sub summary sup table template textarea time title tt u ul var video")
)

func ofHTML(name string) bool {
	low := strings.ToLower(name)
	return loose[low] || strict[low]
}

// balanced returns which tags are markup: elements that have as many ends as
// beginnings, elements that HTML does not end, and all HTML elements of a document
// with a document type.
func balanced(tags []tag, declared bool) func(tag) bool {
	open := make(map[string]int)
	for _, t := range tags {
		switch t.kind {
		case openTag:
			open[t.name]++
		case closeTag:
			open[t.name]--
		}
	}
	return func(t tag) bool {
		return t.name == "" || open[t.name] == 0 || loose[strings.ToLower(t.name)] || declared && ofHTML(t.name)
	}
}

// said are the attributes of HTML that people read, or that lead to more.
var said = wordSet("alt title value aria-label placeholder datetime")

// write writes the replacement of a tag, and reports whether something is left out.
func (t tag) write(b *strings.Builder) (lost bool) {
	if t.kind == remark {
		b.WriteByte(' ')
		return t.to-t.from > len("<!doctype html>") // more than the plain declaration
	}
	html := ofHTML(t.name)
	low := strings.ToLower(t.name)
	switch {
	case t.kind == closeTag:
		b.WriteByte(' ')
		return false
	case low == "td" || low == "th":
		b.WriteString(" | ")
	case !html:
		b.WriteString(" " + t.name)
		if t.kind == openTag && len(t.attrs) == 0 {
			b.WriteByte(':')
		}
		b.WriteByte(' ')
	default:
		b.WriteByte(' ')
	}
	for _, a := range t.attrs {
		name := strings.ToLower(a.name)
		switch {
		case a.value == "":
			lost = lost || html
		case html && name == "href":
			b.WriteString("(" + a.value + ") ")
		case !html || said[name]:
			b.WriteString(a.name + "=" + oneWord(a.value) + " ")
		default:
			lost = true
		}
	}
	return lost
}

// oneWord quotes text with blanks.
func oneWord(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\r\n\"") {
		return quote(s)
	}
	return s
}
