package smallmodel

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/rank"
)

// maxCopied bounds how many words of a conversation may be copied.
const maxCopied = 160

// composed are words in the names of parameters whose values a model writes
// itself instead of finding them in the conversation.
var composed = stemSet("content body code script answer reply summary comment note explanation essay story poem html markdown sql command prompt reason thought")

// places are words in the names of parameters that take the path of a file or
// folder.
var places = stemSet("path file filename filepath folder directory dir")

// Text returns the bounded schema of a string parameter: what the conversation
// says about it. It returns nil if that is nothing. Nine of ten strings in the
// calls of a public set of questions are words of the question; a small model
// that may write any string writes what it has seen in the description.
func (e *evidence) Text(name string, raw json.RawMessage) json.RawMessage {
	s := keywordsOf(raw)
	if s.has("pattern") {
		return nil
	}
	size := sizeOf(s)
	if dated := e.dated(name, s, size); dated != nil || s.has("format") {
		return dated
	}
	about := js.Decode[string](s["description"])
	if strings.Contains(strings.ToLower(about), "yyyy-mm-dd") && size.takes("2026-01-31") {
		return json.RawMessage(`{"type":"string","format":"date"}`)
	}
	choices := size.of(choicesIn(about))
	if said := slices.DeleteFunc(slices.Clone(choices), func(c string) bool { return !e.speaksOf(c) }); len(said) > 0 {
		return enum(said)
	}
	stems := rank.Stems(name)
	within := func(set map[string]bool) bool {
		return slices.ContainsFunc(stems, func(w string) bool { return set[w] })
	}
	if found := size.of(e.paths()); len(found) > 0 && within(places) {
		return enum(found)
	}
	if found := size.of(e.states(name, about)); len(found) > 0 {
		return enum(found)
	}
	if wantsRegion(about) {
		if found := size.of(e.located(name)); len(found) > 0 {
			return enum(found)
		}
	}
	if found := size.of(e.people(name)); len(found) > 0 {
		return enum(found)
	}
	if within(composed) {
		if found := size.of(dictated(e.request)); len(found) > 0 && within(spelled) {
			return enum(found)
		}
		return nil
	}
	copied := e.copied(size, about)
	if len(choices) == 0 || copied == nil {
		return copied
	}
	return slices.Concat([]byte(`{"anyOf":[`), enum(choices), []byte(","), copied, []byte("]}"))
}

// copied returns the schema of a run of words of the conversation; nil if no run
// has the size.
func (e *evidence) copied(size lengths, about string) json.RawMessage {
	if len(e.words) == 0 {
		return nil
	}
	if !size.takesAll(e.words) {
		if runs := e.runs(size); len(runs) > 0 {
			return enum(runs)
		}
		return nil
	}
	lower := strings.ToLower(about)
	return emulate.CopySchema(copyWords(e.words), strings.Contains(lower, "city") && strings.Contains(lower, "state"))
}

// lengths is how long a string may be, in characters.
type lengths struct{ least, most int }

func sizeOf(s keywords) lengths {
	size := lengths{js.Decode[int](s["minLength"]), math.MaxInt}
	if s.has("maxLength") {
		size.most = js.Decode[int](s["maxLength"])
	}
	return size
}

func (l lengths) takes(text string) bool {
	n := utf8.RuneCountInString(text)
	return l.least <= n && n <= l.most
}

func (l lengths) of(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return !l.takes(s) })
}

// takesAll reports whether every run of words has the size: the shortest is one
// character.
func (l lengths) takesAll(words []string) bool {
	return l.least <= 1 && utf8.RuneCountInString(strings.Join(words, " ")) < l.most
}

// Runs that are written out: so many words at most, and so many runs.
const (
	maxRunWords = 8
	maxRuns     = 200
)

// runs returns runs of words that have the size, the last of the conversation
// first.
func (e *evidence) runs(size lengths) []string {
	var out []string
	for i := len(e.words) - 1; i >= 0; i-- {
		for n := 1; n <= maxRunWords && i+n <= len(e.words); n++ {
			run := strings.Trim(strings.Join(e.words[i:i+n], " "), wording.Edge)
			if run != "" && size.takes(run) && !slices.Contains(out, run) {
				out = append(out, run)
			}
			if len(out) == maxRuns {
				return out
			}
		}
	}
	return out
}

// paths returns the words that look like the name of a file or a path: those of
// the request, or else of the whole conversation.
func (e *evidence) paths() []string {
	request := e.request
	for _, text := range quotedIn(request) { // a text to be written does not name a file
		request = strings.Replace(request, text, "", 1)
	}
	for _, words := range [][]string{wordsOf(request), e.words} {
		var out []string
		for _, w := range words {
			w = strings.TrimRight(strings.TrimLeft(w, `'"([{<`+"`“‘"), wording.Edge)
			if isPath(w) && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// isPath reports whether a word has the form of a path: a slash within, or an
// end like .txt.
func isPath(w string) bool {
	if strings.Contains(w, "://") || strings.ContainsAny(w, "@*?<>|\"") || slices.Contains(slashed, strings.ToLower(w)) {
		return false
	}
	stem, end, ok := w, "", false
	if i := strings.LastIndexByte(w, '.'); i >= 0 {
		stem, end, ok = w[:i], w[i+1:], true
	}
	named := ok && 0 < len(end) && len(end) <= 8 && !strings.ContainsFunc(end, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) &&
		strings.ContainsFunc(stem+end, unicode.IsLetter) && (stem == "" || strings.ContainsFunc(end, unicode.IsLetter))
	inner := strings.Trim(w, "/")
	return named && !abbreviated(w) || strings.Contains(inner, "/") && strings.ContainsFunc(w, unicode.IsLetter) || len(inner) > 0 && inner != w
}

// slashed are words with a slash that are not paths.
var slashed = strings.Fields("and/or he/she his/her him/her yes/no km/h m/s n/a w/o a/b")

// abbreviated reports whether a word is one like e.g or U.S: letters with dots
// between.
func abbreviated(w string) bool {
	return !slices.ContainsFunc(strings.Split(w, "."), func(s string) bool { return utf8.RuneCountInString(s) > 1 })
}

// spelled are words in the names of parameters whose text a request may give
// word for word.
var spelled = stemSet("content body note comment reply answer")

// Words before a quoted text that is not to be written, and words that introduce a
// text without quotes.
var (
	otherQuote = []string{"about", "of", "on", "called", "named", "titled", "file", "like", "to", "in", "into", "from"}
	dictating  = []string{" saying ", " that says ", " which says ", " reading ", " that reads ", " with the text ", " with the content ", " with the contents ", " with content ", " with the words ", " with the line ", " with the message ", " containing ", " that contains ", " the text ", " the words ", " the line ", " the message ", " the sentence ", " verbatim: ", " the following: "}
	writing    = []string{"write ", "put ", "save ", "store "}
)

// described are words with which a request describes a text: "a poem", "of the day".
// They are not the text itself.
var described = strings.Fields("a an the some my me your our this that these it its all about of for in from with")

// dictated returns the literal texts of a request: texts in quotes, else the text
// after words like "saying".
func dictated(request string) []string {
	if quoted := quotedIn(request); len(quoted) > 0 {
		return quoted
	}
	lower := strings.ToLower(request)
	var out []string
	add := func(text string) {
		text = strings.Trim(text, " \t\n:")
		first, _, _ := strings.Cut(text, " ")
		if text != "" && !slices.Contains(described, first) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, cue := range dictating {
		if i := strings.Index(lower, cue); i >= 0 && len(lower) == len(request) {
			add(beforePlace(request[i+len(cue):])) // "the sentence The sky is blue"
		}
	}
	for _, verb := range writing {
		if rest, ok := strings.CutPrefix(lower, verb); ok && len(out) == 0 && len(lower) == len(request) {
			if text := beforePlace(request[len(request)-len(rest):]); len(text) < len(rest) && !slices.Contains(described, strings.ToLower(strings.Fields(text + " .")[0])) {
				add(text)
			}
		}
	}
	return out
}

// beforePlace cuts a text before the words that say where it goes: "to a.txt".
func beforePlace(text string) string {
	fields := strings.Fields(text)
	for i, w := range fields {
		if !isPath(strings.Trim(w, wording.Edge)) || i == 0 {
			continue
		}
		end := i
		for end > 0 && slices.Contains(toPlace, strings.ToLower(strings.Trim(fields[end-1], wording.Edge))) {
			end--
		}
		if end < i && end > 0 {
			return strings.Join(fields[:end], " ")
		}
	}
	return strings.TrimRight(strings.TrimSpace(text), " ")
}

var toPlace = []string{"to", "in", "into", "the", "a", "new", "file", "called", "named", "as", "under"}

// quotedIn returns the texts in quotes that a request wants written.
func quotedIn(request string) []string {
	var out []string
	for rest := request; ; {
		i := strings.IndexAny(rest, "\"“'`")
		if i < 0 {
			return out
		}
		open, width := utf8.DecodeRuneInString(rest[i:])
		before, inside := rest[:i], rest[i+width:]
		closer := string(open)
		if open == '“' {
			closer = "”"
		}
		end := strings.Index(inside, closer)
		if last, _ := utf8.DecodeLastRuneInString(before); end < 0 || unicode.IsLetter(last) || unicode.IsDigit(last) { // an apostrophe
			rest = inside
			continue
		}
		words := strings.Fields(strings.ToLower(before))
		if text := inside[:end]; text != "" && !isPath(text) && (len(words) == 0 || !slices.Contains(otherQuote, words[len(words)-1])) {
			out = append(out, text)
		}
		rest = inside[end+len(closer):]
	}
}

// speaksOf reports whether the request has every word of a phrase.
func (e *evidence) speaksOf(phrase string) bool {
	stems := rank.Stems(phrase)
	return len(stems) > 0 && !slices.ContainsFunc(stems, func(w string) bool { return !e.said[w] })
}

// closers are the words with which a description begins a list of all values.
var closers = []string{"can be", "one of", "valid values", "options", "either", "must be", "supports", "choices", "allowed", "possible values", "choose from"}

// choicesIn returns the values that a description lists in quotes, if it says
// that they are all there are.
func choicesIn(about string) []string {
	lower := strings.ToLower(about)
	if !slices.ContainsFunc(closers, func(c string) bool { return strings.Contains(lower, c) }) {
		return nil
	}
	var out []string
	for rest := about; ; {
		i := strings.IndexAny(rest, `'"`)
		if i < 0 {
			break
		}
		quote := rest[i]
		rest = rest[i+1:]
		end := strings.IndexByte(rest, quote)
		if end < 0 {
			break
		}
		if v := rest[:end]; v != "" && end <= 40 && !strings.Contains(v, ", ") && !slices.Contains(out, v) {
			out = append(out, v)
		}
		rest = rest[end+1:]
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// wordsOf splits a text at spaces; the last maxCopied count.
func wordsOf(text string) []string {
	out := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	out = slices.DeleteFunc(out, func(w string) bool { return len(w) > 200 || strings.ContainsRune(w, '\uFFFD') })
	return out[max(0, len(out)-maxCopied):]
}

// copyWords returns the words, each with whether a copied run may begin and end
// with it.
func copyWords(words []string) []emulate.CopyWord {
	out := make([]emulate.CopyWord, len(words))
	for i, word := range words {
		begins, ends := edgesOf(words, i)
		out[i] = emulate.CopyWord{Text: word, Begins: begins, Ends: ends}
	}
	return out
}

// edgesOf reports whether a copied run may begin and end with the i-th word. A
// stop word like "in" or "the" never ends a run, and begins one only after a quote
// or colon, or as the first word of a question. The first word of a request that
// asks for something ("Find a tent") is not a value.
func edgesOf(words []string, i int) (begins, ends bool) {
	core := strings.Trim(words[i], wording.Edge)
	head := words[i][:strings.Index(words[i], core)]
	stems := rank.Stems(core)
	if len(stems) > 0 {
		return i > 0 || !asking[strings.Join(stems, " ")], true
	}
	if core != strings.ToLower(core) && i > 0 && !strings.HasPrefix(core, "I") && !strings.ContainsAny(words[i-1][len(words[i-1])-1:], ".?!") {
		return true, true // part of a name: The Larks
	}
	return head != "" || i > 0 && strings.HasSuffix(words[i-1], ":") || i == 0 && slices.Contains(interrogatives, strings.ToLower(core)), false
}

// interrogatives are the words that say nothing and yet begin a question.
var interrogatives = strings.Fields("what who whom whose how when where which why")
