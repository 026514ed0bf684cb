package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/sim"
)

// completeInput completes the word at the end of what is being typed: a command,
// what belongs to it, a tool or a file. What fits all candidates is written; if
// there are several, they are shown.
func (c *chat) completeInput() {
	text := c.input.Value()
	if c.input.Line() != c.input.LineCount()-1 || c.input.Column() != utf8.RuneCountInString(lastLine(text)) {
		return
	}
	word := text[strings.LastIndexAny(text, " \n")+1:]
	found := c.candidates(text, word)
	if len(found) == 0 {
		return
	}
	if more := commonPrefix(found); len(more) > len(word) {
		if len(found) == 1 && !strings.HasSuffix(more, "/") {
			more += " "
		}
		c.input.InsertString(more[len(word):])
	}
	if len(found) > 1 {
		c.offers = found
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// candidates are the words that begin like the last word of a text.
func (c *chat) candidates(text, word string) []string {
	command, _, more := strings.Cut(text, " ")
	var names []string
	switch {
	case strings.HasPrefix(text, "/") && !more:
		for _, s := range slashes() {
			names = append(names, s.name)
		}
	case command == "/model":
		names = c.modelNames()
	case command == "/tools":
		names = []string{"revoke", "all"}
	case command == "/save":
		return filesLike(".", word)
	case word == "":
	default:
		names = c.w.tools.Names()
		return append(startingWith(names, word), filesLike(c.w.Root, word)...)
	}
	return startingWith(names, word)
}

// modelNames are the models that can be asked, as far as is known without asking
// anybody.
func (c *chat) modelNames() []string {
	var names []string
	for _, f := range c.w.keyedModels() {
		names = append(names, strings.TrimSuffix(f.ID, "…"))
	}
	names = append(append(names, c.served...), offlineID)
	names = append(names, sim.Models()...)
	for _, m := range catalog.Default().Models() {
		names = append(names, m.ID.Raw)
	}
	return names
}

// startingWith returns the names that begin like a word.
func startingWith(names []string, word string) []string {
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, word) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// maxListed bounds the files that are looked at for a word.
const maxListed = 1000

// filesLike returns the files below root whose path begins like a word. Folders
// end in a slash; hidden files need their dot.
func filesLike(root, word string) []string {
	dir, base := filepath.Split(word)
	if !filepath.IsAbs(dir) {
		root = filepath.Join(root, dir)
	} else {
		root = dir
	}
	f, err := os.Open(root)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxListed)
	var out []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") || cli.Printable(name) != name || strings.ContainsAny(name, " \n") {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		out = append(out, dir+name)
	}
	slices.Sort(out)
	return out
}

// commonPrefix is what all words begin with, in whole characters.
func commonPrefix(words []string) string {
	prefix := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return strings.ToValidUTF8(prefix, "")
}
