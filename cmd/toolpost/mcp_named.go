package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/mcpbridge"
)

// serverFor returns the server that a word stands for. Of one in a project's file that is not used
// the error says so.
func (s *settings) serverFor(all []mcpbridge.ServerConfig, word string) (mcpbridge.ServerConfig, error) {
	c, err := serverNamed(all, word)
	if err == nil {
		return c, nil
	}
	files, unread := projectFiles(s.Root)
	if unread != nil {
		return c, err
	}
	for _, f := range files {
		for _, server := range f.servers {
			if server.Name == word && !f.trusted {
				return c, fmt.Errorf("%s is a server of %s, %s; 'toolpost mcp trust %s' shows it and agrees to it", word, f.path, f.why(), cli.ShellWord(f.path))
			}
		}
	}
	return c, err
}

// why says why the servers of a project's file are not used.
func (f projectFile) why() string {
	if f.changed {
		return "which has changed since you agreed to it"
	}
	return "to which you have not agreed"
}

// notice says that the servers of a file are not used, and what to do.
func (f projectFile) notice() string {
	if f.broken != nil {
		return fmt.Sprintf("%s is not used, because it cannot be read: %s", f.path, cli.InOneLine(f.broken.Error()))
	}
	return fmt.Sprintf("%s, %s, has %s, which are not used; 'toolpost mcp trust %s' shows them and agrees to them", f.path, f.why(), counted(len(f.servers), "server"), cli.ShellWord(f.path))
}

// told returns what notices of the chosen servers are shown as.
func (s *settings) told(chosen []mcpbridge.ServerConfig) func(string) string {
	return func(text string) string {
		for i := range min(len(s.mcp), len(chosen)) { // each word is a server
			text = withWords(text, chosen[i], s.mcp[i])
		}
		return s.redact(text)
	}
}

// withWords replaces the name of a server that has none in the configuration by the words
// that stand for it, in a command that a notice says to enter.
func withWords(text string, c mcpbridge.ServerConfig, word string) string {
	if word == c.Name {
		return text
	}
	return strings.ReplaceAll(text, "toolpost mcp tools "+c.Name+" --approve", "toolpost mcp tools "+cli.ShellWord(word)+" --approve")
}

// splitWords splits a command as a shell does: quotes keep words together, and a backslash
// before a quote or a space takes that as it is. Other backslashes stay, as in paths of Windows.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	text := []rune(line)
	for i := 0; i < len(text); i++ {
		r := text[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(text) && strings.ContainsRune(`'" `, text[i+1]):
			i++
			word.WriteRune(text[i])
			inWord = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case !unicode.IsSpace(r):
			word.WriteRune(r)
			inWord = true
		case inWord:
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote in the command is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
