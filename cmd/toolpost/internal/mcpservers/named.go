package mcpservers

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// Find returns the server that a word names. If the server is in a project's file that is not trusted, the error
// tells the user about it.
func Find(s *settings.Settings, all []config.ServerConfig, word string) (config.ServerConfig, error) {
	c, err := serverNamed(all, word)
	if err == nil {
		return c, nil
	}
	files, unread := ProjectFiles(s.Root)
	if unread != nil {
		return c, err
	}
	for _, f := range files {
		for _, server := range f.Servers {
			if server.Name == word && !f.Trusted {
				return c, fmt.Errorf("%s is a server of %s, %s; 'toolpost mcp trust %s' shows it and agrees to it", word, f.Path, f.why(), cli.ShellWord(f.Path))
			}
		}
	}
	return c, err
}

// why explains why the servers of a project's file are not used.
func (f projectFile) why() string {
	if f.changed {
		return "which has changed since you agreed to it"
	}
	return "to which you have not agreed"
}

// Notice reports that the servers of a file are not used, and how to use them.
func (f projectFile) Notice() string {
	if f.broken != nil {
		return fmt.Sprintf("%s is not used, because it cannot be read: %s", f.Path, cli.InOneLine(f.broken.Error()))
	}
	return fmt.Sprintf("%s, %s, has %s, which are not used; 'toolpost mcp trust %s' shows them and agrees to them", f.Path, f.why(), cli.Count(len(f.Servers), "server"), cli.ShellWord(f.Path))
}

// Namer returns a function that rewrites notices of the chosen servers for the user.
func Namer(s *settings.Settings, chosen []config.ServerConfig) func(string) string {
	return func(text string) string {
		for i := range min(len(s.MCP), len(chosen)) { // each word is a server
			text = withWords(text, chosen[i], s.MCP[i])
		}
		return s.Redact(text)
	}
}

// withWords replaces the name of a server that is not configured by the words of its --mcp flag. It applies to the
// command that a notice suggests.
func withWords(text string, c config.ServerConfig, word string) string {
	if word == c.Name {
		return text
	}
	return strings.ReplaceAll(text, "toolpost mcp tools "+c.Name+" --approve", "toolpost mcp tools "+cli.ShellWord(word)+" --approve")
}

// SplitWords splits a command like a shell. Quotes keep words together. A backslash escapes a quote or a space. Other
// backslashes are kept, as in Windows paths.
func SplitWords(line string) ([]string, error) {
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
