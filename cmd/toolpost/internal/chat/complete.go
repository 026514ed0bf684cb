package chat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/sim"
)

// completeInput completes the word at the end of the input: a command, its argument, a tool or a file. It inserts the
// common prefix of all candidates. Several candidates are shown as a list.
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

// candidates returns the words that start with the last word of a text.
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
		names = c.w.ToolSet.Names()
		return append(cli.StartingWith(names, word), filesLike(c.w.Root, word)...)
	}
	return cli.StartingWith(names, word)
}

// modelNames returns the known models without asking any server.
func (c *chat) modelNames() []string {
	var names []string
	for _, f := range openmodel.WithKey(&c.w.ModelOptions) {
		names = append(names, strings.TrimSuffix(f.ID, "…"))
	}
	names = append(append(names, c.served...), openmodel.OfflineID)
	names = append(names, sim.Models()...)
	for _, m := range catalog.Default().Models() {
		names = append(names, m.ID.Raw)
	}
	return names
}

// maxListed limits how many files are read for the completion of a word.
const maxListed = 1000

// filesLike returns the files below root whose path starts with a word. Folders end in a slash. Hidden files are listed
// only if the word starts with a dot.
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

// commonPrefix returns the longest common prefix of all words, in whole characters.
func commonPrefix(words []string) string {
	prefix := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return strings.ToValidUTF8(prefix, "")
}
