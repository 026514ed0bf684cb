package smallmodel

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// takes is what a parameter takes, as its name and schema declare it.
type takes int

const (
	takesOther takes = iota
	takesAddress
	takesPlace   // a file or folder
	takesQuery   // a text to look for
	takesGlob    // a pattern of file names
	takesContent // a whole text
	takesBefore  // the text to be replaced
	takesAfter   // the text that replaces it
	takesProgram
	takesArguments // a list of arguments of a program
	takesFirstLine
	takesLines
)

// roleWords are the words in the names of parameters, in lower case.
var roleWords = []struct {
	takes takes
	words map[string]bool
}{
	{takesAddress, wordSet("url uri link href website webpage")},
	{takesBefore, wordSet("old before original find")},
	{takesAfter, wordSet("new after replacement replace")},
	{takesGlob, wordSet("glob mask include")},
	{takesPlace, wordSet("path file filename filepath folder directory dir document")},
	{takesProgram, wordSet("program command cmd executable binary shell")},
	{takesArguments, wordSet("args arguments argv")},
	{takesQuery, wordSet("query q search keyword keywords needle regex regexp term phrase pattern")},
	{takesContent, wordSet("content contents text body")},
}

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

// partsOf splits the name of a parameter into words: "oldText" and "old_text".
func partsOf(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// rolesOf returns what each parameter of a tool takes.
func rolesOf(d llm.ToolDef) map[string]takes {
	out := map[string]takes{}
	s := schema.ShapeOf(d.Schema)
	props := keywordsOf(keywordsOf(d.Schema)["properties"])
	for _, name := range s.Properties() {
		out[name] = roleOf(name, props[name], s.Property(name))
	}
	for name, role := range out { // of two, the pattern is that of the names
		if role == takesQuery && slices.Equal(rank.Stems(name), rank.Stems("pattern")) && (namesFiles(props[name]) || hasOther(out, name, takesQuery)) {
			out[name] = takesGlob
		}
	}
	return out
}

func roleOf(name string, raw json.RawMessage, s *schema.Shape) takes {
	if s == nil {
		return takesOther
	}
	list := s.Types() == schema.Array
	if numeric(s) {
		has := func(words ...string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(name), w) })
		}
		switch {
		case has("line") && has("first", "start", "from", "offset"):
			return takesFirstLine
		case strings.EqualFold(name, "lines") || has("line") && has("count", "max", "num"):
			return takesLines
		}
		return takesOther
	}
	if !list && s.Types()&schema.String == 0 || keywordsOf(raw).has("enum", "const") {
		return takesOther
	}
	if strings.HasPrefix(js.Decode[string](keywordsOf(raw)["format"]), "uri") {
		return takesAddress
	}
	parts := partsOf(name)
	for _, r := range roleWords {
		if list != (r.takes == takesArguments) {
			continue
		}
		if slices.ContainsFunc(parts, func(w string) bool { return r.words[w] }) {
			return r.takes
		}
	}
	return takesOther
}

func hasOther(roles map[string]takes, name string, role takes) bool {
	for other, r := range roles {
		if other != name && r == role {
			return true
		}
	}
	return false
}

// namesFiles reports whether a pattern is one for the names of files.
func namesFiles(raw json.RawMessage) bool {
	about := strings.ToLower(js.Decode[string](keywordsOf(raw)["description"]))
	return strings.Contains(about, "*.") || strings.Contains(about, "file name") || strings.Contains(about, "glob")
}

// deed is what a tool does with a file, a folder, an address or a program, as far as
// its parameters declare it.
type deed int

const (
	noDeed deed = iota
	reads
	listsFiles
	searchesFiles
	writesFile
	edits
	runs
	fetches
	searchesWeb
)

// usual are the words with which the names and descriptions of tools begin that do
// this and nothing more. A deed without words needs none.
var usual = map[deed]map[string]bool{
	reads:         stemSet("read cat show view open get print display load return"),
	listsFiles:    stemSet("list ls dir tree browse"),
	searchesFiles: stemSet("search find grep look"),
}

// webWords are words for the web in the description of a tool.
var webWords = stemSet("web internet online google bing duckduckgo")

// deedsOf returns what the parameters of a tool say it can do.
func deedsOf(d llm.ToolDef) []deed {
	roles := rolesOf(d)
	required := map[takes]int{}
	all := map[takes]int{}
	s := schema.ShapeOf(d.Schema)
	needs := 0
	for name, role := range roles {
		all[role]++
		if s.Required(name) {
			required[role]++
			needs++
		}
	}
	only := func(roles ...takes) bool {
		n := 0
		for _, r := range roles {
			if required[r] != 1 {
				return false
			}
			n++
		}
		return n == needs
	}
	switch {
	case only(takesAddress):
		return []deed{fetches}
	case only(takesPlace, takesBefore, takesAfter):
		return []deed{edits}
	case only(takesPlace, takesContent):
		return []deed{writesFile}
	case only(takesProgram), only(takesProgram, takesArguments):
		return []deed{runs}
	case required[takesQuery] == 1 && needs <= 2 && all[takesPlace]+all[takesGlob] > 0 && needs-required[takesPlace] == 1:
		return []deed{searchesFiles}
	case only(takesQuery) && slices.ContainsFunc(rank.Stems(d.Name+" "+d.Description), func(w string) bool { return webWords[w] }):
		return []deed{searchesWeb}
	case needs == 0 && all[takesPlace] > 0:
		return []deed{listsFiles}
	case only(takesPlace):
		return []deed{reads, listsFiles}
	}
	return nil
}

// begins reports whether the name or the description of a tool begins with a word.
func begins(d llm.ToolDef, words map[string]bool) bool {
	stems := rank.Stems(d.Name)
	if slices.ContainsFunc(stems, func(w string) bool { return words[w] }) {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimSpace(d.Description), " ")
	stems = rank.Stems(first)
	return len(stems) > 0 && words[stems[0]]
}

// forDeed returns the tool for a deed: the only one, or of several the one that the
// request fits best if it fits well, else the usual one. It returns -1 if there is none.
func forDeed(tools []llm.ToolDef, want deed, text string) int {
	var able, plain []int
	for i, d := range tools {
		if !slices.Contains(deedsOf(d), want) {
			continue
		}
		words := usual[want]
		switch {
		case words == nil || begins(d, words):
			plain = append(plain, i)
			able = append(able, i)
		case changes(d): // a tool that deletes a file takes a path, too
		default:
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return -1
	}
	if len(able) > 1 {
		some := make([]llm.ToolDef, len(able))
		for i, at := range able {
			some[i] = tools[at]
		}
		if best, fit := pick(some, text); fit >= leastOtherFit && !slices.Contains(plain, able[best]) || len(plain) != 1 && fit >= leastFit {
			return able[best]
		}
	}
	if len(plain) == 0 {
		return -1
	}
	return plain[0]
}

// changing are words in the names of tools that change what they are given.
var changing = stemSet("delete remove write create edit update move rename copy save put upload append clear lock erase chmod send")

func changes(d llm.ToolDef) bool {
	return slices.ContainsFunc(rank.Stems(d.Name), func(w string) bool { return changing[w] })
}
