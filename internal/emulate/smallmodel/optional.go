package smallmodel

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/rank"
)

// alike are words that ask for the same parameter, a line for each.
var alike = func() []map[string]bool {
	var out []map[string]bool
	for _, line := range []string{
		"kid kids child children family grandchild grandchildren toddler",
		"person persons people ppl adult adults passenger passengers guest guests traveler travelers traveller travellers seat seats party",
		"free complimentary",
		"private privately secret hidden",
	} {
		out = append(out, stemSet(line))
	}
	return out
}()

// helping are words in the names of parameters that only qualify their neighbours.
var helping = stemSet("is has have good great add allow allowed only show return avoid prefer preferred want wanted needs service visibility count total amount average avg minimum min maximum max quantity size size_of num no of")

// hints returns the words with which a request may ask for a parameter, as stems:
// those of its name that say something, and those like them. Of a name with
// several the first one tells it from others: free_entry, private_visibility.
func (e *evidence) hints(name string) map[string]bool {
	out := map[string]bool{}
	for _, w := range rank.Stems(name) {
		if generic[w] || helping[w] || e.about[w] || wording.IsDigit(w[0]) {
			continue
		}
		out[w] = true
		for _, set := range alike {
			if set[w] {
				for other := range set {
					out[other] = true
				}
			}
		}
		break
	}
	return out
}

// asks reports whether the request has one of the words.
func (e *evidence) asks(words map[string]bool) bool {
	for w := range words {
		if e.said[w] {
			return true
		}
	}
	return false
}

// yesNo returns the value for yes of a parameter that takes yes or no, as a
// boolean or as a word; nil if it takes something else.
func yesNo(s keywords) json.RawMessage {
	if js.Decode[string](s["type"]) == "boolean" {
		return json.RawMessage("true")
	}
	var yes, no json.RawMessage
	for _, v := range js.Decode[[]json.RawMessage](s["enum"]) {
		switch strings.ToLower(js.Decode[string](v)) {
		case "true", "yes":
			yes = v
		case "false", "no":
			no = v
		}
	}
	if no == nil {
		return nil
	}
	return yes
}

// counting are words in the names of parameters that take a count of something.
var counting = stemSet("number num count star quantity")

// counted returns the numbers that precede a word for the parameter: the 2 of "2
// tickets" and "2-star".
func (e *evidence) counted(name string) []string {
	if e.long() || !slices.ContainsFunc(rank.Stems(name), func(w string) bool { return counting[w] }) {
		return nil
	}
	hints := e.hints(name)
	var out []string
	words := strings.FieldsFunc(e.request, func(r rune) bool { return unicode.IsSpace(r) || r == '-' })
	for i, w := range words {
		numbers := wording.Numbers(w)
		if len(numbers) == 0 || strings.ContainsAny(w[len(w)-1:], ".,;:?!") {
			continue
		}
		for _, next := range words[i+1 : min(len(words), i+3)] {
			if stems := rank.Stems(next); len(stems) > 0 && hints[stems[0]] {
				if !slices.Contains(out, numbers[0].Text) {
					out = append(out, numbers[0].Text)
				}
				break
			}
		}
	}
	return out
}

// percents reports whether a parameter takes a percentage and the conversation has
// one.
func (e *evidence) percents(name string) bool {
	return strings.Contains(strings.ToLower(name), "percent") && slices.ContainsFunc(e.numbers, func(n wording.Number) bool { return n.Percent })
}

// Items returns how many items a list of words or numbers of the conversation
// may have: as many as it lists.
func (e *evidence) Items(numbers bool) int {
	if numbers {
		return max(1, len(e.numbers))
	}
	text := e.lower
	return 1 + strings.Count(text, ",") + strings.Count(text, " and ") + strings.Count(text, " or ") + strings.Count(text, "&") + strings.Count(text, ";") + strings.Count(text, "\n") + strings.Count(text, "、") + strings.Count(text, "，") + strings.Count(text, " with ") + strings.Count(text, " to ")
}

// role is a kind of person that a parameter may name, and the words before and after
// the name in a request.
type role struct {
	names  map[string]bool // stems of the parameter's name
	before []string
	behind []string
}

var roles = []role{
	{stemSet("actor actress cast star starring lead"), []string{"starring", "stars", "featuring", "features", "feature", "with", "acted by", "actor", "actors like"}, []string{"as an actor", "as the actor", "as the lead", "in the lead", "starring", "in the cast", "in it"}},
	{stemSet("director directed"), []string{"directed by", "director", "by"}, []string{"as the director", "as director"}},
	{stemSet("artist singer band musician performer composer author writer"), []string{"sung by", "written by", "by", "from the artist", "artist", "singer", "band"}, nil},
}

// people returns the names that the request gives for a parameter that takes a
// person in a role.
func (e *evidence) people(name string) []string {
	stems := rank.Stems(name)
	i := slices.IndexFunc(roles, func(r role) bool {
		return slices.ContainsFunc(stems, func(w string) bool { return r.names[w] })
	})
	if i < 0 || e.long() || len(e.lower) != len(e.request) {
		return nil
	}
	for _, cue := range roles[i].before { // the clearest first
		if out := e.namesAfter(cue); len(out) > 0 {
			return out
		}
	}
	for _, cue := range roles[i].behind {
		if at := strings.Index(e.lower, " "+cue); at > 0 {
			if found := nameBefore(e.request[:at]); found != "" {
				return []string{found}
			}
		}
	}
	return nil
}

// namesAfter returns the names after a word of the request.
func (e *evidence) namesAfter(cue string) []string {
	var out []string
	for from := 0; ; {
		i := strings.Index(e.lower[from:], " "+cue+" ")
		if i < 0 {
			return out
		}
		before := e.lower[:from+i]
		from += i + len(cue) + 1
		if cue == "by" && otherDeed(before) {
			continue
		}
		found := nameAfter(e.request[from+1:], len(cue) > len("with"))
		if found != "" && !slices.Contains(out, found) {
			out = append(out, found)
		}
	}
}

// otherDeed reports whether a text ends with a verb, which gives the name after "by"
// another role: "acted by".
func otherDeed(text string) bool {
	return strings.HasSuffix(text, "ed") || strings.HasSuffix(text, "sung") || strings.HasSuffix(text, "written")
}

// longestName bounds how many words a name of a person has.
const longestName = 4

// nameAfter returns the name that a text begins with: capitalised words, or, if any is
// set, the words up to a conjunction.
func nameAfter(text string, any bool) string {
	var out []string
	for _, w := range strings.Fields(text) {
		core := strings.TrimSuffix(strings.TrimSuffix(strings.Trim(w, wording.Edge), "'s"), "’s")
		first, _ := utf8.DecodeRuneInString(core)
		if core == "" || len(out) == longestName || !unicode.IsUpper(first) && (!any || len(out) == 2 || len(rank.Stems(core)) == 0) || len(out) > 0 && (core == "I" || core == "Can") {
			break
		}
		out = append(out, core)
		if strings.TrimRight(w, wording.Edge) != w {
			break
		}
	}
	if len(out) == 1 && any && strings.ToLower(out[0]) == out[0] {
		return ""
	}
	return strings.Join(out, " ")
}

// nameBefore returns the name with capitals that a text ends with.
func nameBefore(text string) string {
	words := strings.Fields(text)
	from := len(words)
	for from > 0 && len(words)-from < longestName {
		first, _ := utf8.DecodeRuneInString(words[from-1])
		if !unicode.IsUpper(first) || strings.TrimRight(words[from-1], wording.Edge) != words[from-1] {
			break
		}
		from--
	}
	return strings.Join(words[from:], " ")
}
