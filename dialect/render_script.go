package dialect

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"
)

// script is how a dialect is written. In call, $name, $id and $args stand for
// the values of the call; see form for the words in param.
type script struct {
	think [2]string // around thinking
	text  [2]string // around text
	intro [2]string // around text that calls follow, where it differs from text
	lead  string    // between text and the calls that follow it
	next  string    // between thinking, text and runs of calls
	open  string    // before a run of calls
	call  string    // one call
	sep   string    // between two calls of a run
	close string    // after a run of calls
	end   string    // after the turn
	whole bool      // the answer is one JSON value: text is quoted and stands alone
	id    idForm
	form
}

// form is how arguments are written.
type form struct {
	body  body
	tight bool // JSON without spaces after , and :
	// param is one parameter, for params: $key, $value, $type, $string
	// ("true" for strings, else "false") and $attr (name="key" with a space
	// before it, or nothing for the items of a list).
	param string
	// node is one object or array whose entries are $value; empty means that
	// they are written as JSON within param.
	node string
	// item is the key of an array's items in a node; "=" repeats the key of
	// the array instead.
	item  string
	types []string // $type by kind; nil is the JSON name of the type
	delim string   // around a string, for bare
	cdata bool     // strings with < or & stand in a CDATA section
}

// body is the notation of the arguments.
type body uint8

const (
	jsonBody   body = iota // {"city": "Paris"}
	pythonBody             // city="Paris"
	paramsBody             // one element per parameter
	bareBody               // {city:«Paris»,days:3}
)

// idForm is how a dialect writes the id of a call.
type idForm uint8

const (
	noID      idForm = iota
	nameIndex        // functions.NAME:0, counted over the conversation
	alnum9           // nine letters and digits
	alnum10          // ten small letters and digits
	counter          // 0, 1, 2
	oneBased         // 1, 2, 3
)

// of returns the id to write for a call: its own where that has the right
// form, else one made from it (the same for a call and its result) or from its
// place among the calls.
func (f idForm) of(id, name string, place int) string {
	switch f {
	case nameIndex:
		head, index, ok := strings.Cut(strings.TrimPrefix(id, "functions."), ":")
		if _, err := strconv.ParseUint(index, 10, 32); ok && head == name && err == nil {
			return "functions." + head + ":" + index
		}
		return "functions." + name + ":" + strconv.Itoa(place)
	case alnum9:
		return fit(id, place, 9, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	case alnum10:
		return fit(id, place, 10, "0123456789abcdefghijklmnopqrstuvwxyz")
	case counter:
		if _, err := strconv.ParseUint(id, 10, 31); err == nil {
			return id
		}
		return strconv.Itoa(place)
	case oneBased:
		return strconv.Itoa(place + 1)
	}
	return ""
}

// fit returns id if it has length n and letters of the alphabet only, else n
// such letters that depend on id, or on place if there is no id.
func fit(id string, place, n int, alphabet string) string {
	if len(id) == n && strings.Trim(id, alphabet) == "" {
		return id
	}
	sum := uint64(place + 1)
	if id != "" {
		h := fnv.New64a()
		h.Write([]byte(id))
		sum = h.Sum64()
	}
	out := make([]byte, n)
	for i := range out {
		out[n-1-i] = alphabet[sum%uint64(len(alphabet))]
		sum /= uint64(len(alphabet))
	}
	return string(out)
}

// markers returns what a string must not contain unescaped: the tags, tokens
// and fences among the fixed words of the script.
func (s script) markers() []string {
	var out []string
	for _, text := range []string{s.think[0], s.think[1], s.text[0], s.text[1], s.next, s.open, s.call, s.close, s.end} {
		for len(text) > 0 {
			n := marker(text)
			if n > 0 {
				out = append(out, text[:n])
			}
			_, size := utf8.DecodeRuneInString(text)
			text = text[max(n, size):]
		}
	}
	return out
}

// marker returns the length of the marker at the start of text, or 0.
func marker(text string) int {
	for _, m := range []struct{ open, close string }{{"<", ">"}, {"[T", "]"}, {"[/", "]"}, {"[A", "]"}, {"[C", "]"}, {"✿", "✿"}, {"```", ""}, {">>>", ""}} {
		if !strings.HasPrefix(text, m.open) {
			continue
		}
		end := strings.Index(text[len(m.open):], m.close)
		if name := strings.Index(text, "$"); name >= 0 && (end < 0 || name < end) {
			return name // <function=$name>
		}
		if end >= 0 {
			return len(m.open) + end + len(m.close)
		}
	}
	return 0
}
