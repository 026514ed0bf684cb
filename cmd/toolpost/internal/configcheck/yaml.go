package configcheck

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// Problem returns the line of a mistake that the YAML parser found, 0 if it is unknown, and a description in user terms.
func Problem(err error) (line int, text string) {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil || at.GetToken().Position == nil {
		return 0, plainError(err)
	}
	text = plainMessage(at.GetMessage(), at.GetToken().Value)
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		text = fmt.Sprintf("unknown field %q", at.GetToken().Value)
	}
	return at.GetToken().Position.Line, text
}

// plainError rewrites errors of the YAML parser that use Go terms.
func plainError(err error) string {
	text := err.Error()
	i := strings.LastIndex(text, "duration ")
	if !strings.HasPrefix(text, "time: ") || i < 0 {
		return text
	}
	value := text[i+len("duration "):]
	if strings.HasSuffix(value, `d"`) {
		return value + " is not a duration like 90s or 10m; the largest unit is h, and a day is 24h"
	}
	return value + " is not a duration like 90s or 10m"
}

// goTypes names the types of settings in plain words, by the suffix of their Go name.
var goTypes = []struct{ end, is string }{
	{"time.Duration", "a duration like 90s or 10m"}, {"int64", "a whole number"}, {"int", "a whole number"}, {"float64", "a number"},
	{"bool", "true or false"}, {"string", "a text"},
}

// The advice on a tab in the indentation.
const noTabs = "this line has a tab; YAML is indented with spaces only"

// yamlMessages maps messages of the YAML parser about common mistakes to helpful ones.
var yamlMessages = []struct{ contains, means string }{
	{"found character '\t'", noTabs},
	{"tab character cannot use", noTabs},
	{"found a tab character", noTabs},
	{"sequence end token ']' not found", "the list that begins here does not end; a ] is missing"},
	{"could not find flow mapping end token '}'", "the fields in braces that begin here do not end; a } is missing"},
	{"non-map value is specified", "expected a field and its value, like NAME: VALUE, with a space after the colon and the same indentation as the line before"},
	{"value is not allowed in this context", "unexpected value: either the indentation of this line differs from that of its section, or a text with a colon has no quotes"},
	{"could not find end character of", "the text that begins here does not end; a quote is missing"},
}

// plainMessage rewrites a message of the YAML parser without Go terms.
func plainMessage(message, value string) string {
	_, rest, found := strings.Cut(message, " of type ")
	if !found || !strings.HasPrefix(message, "cannot unmarshal ") {
		for _, row := range yamlMessages {
			if strings.Contains(message, row.contains) {
				return row.means
			}
		}
		return strings.NewReplacer("sequence is expected", "expected a list", "mapping is expected", "expected keys and values").Replace(message)
	}
	for _, t := range goTypes {
		if strings.HasSuffix(strings.TrimSpace(rest), t.end) {
			return fmt.Sprintf("%q is not %s", cli.OneLine(value, 60), t.is)
		}
	}
	return fmt.Sprintf("%q does not belong here", cli.OneLine(value, 60))
}
