package term

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// language describes the syntax of a language. Highlighting is data: a new language is a new row. Words, strings,
// comments and numbers are recognised, each line in one pass.
type language struct {
	names    string   // names in a fence, the main name first
	comment  []string // markers of comments to the end of the line
	block    []string // start and end of a block comment
	quotes   string   // quotes of strings
	long     []string // start and end of multi-line strings
	keywords string
}

var languages = []language{
	{names: "go golang", comment: []string{"//"}, block: []string{"/*", "*/"}, quotes: `"'`, long: []string{"`"},
		keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false"},
	{names: "python py python3", comment: []string{"#"}, quotes: `"'`, long: []string{`"""`, "'''"},
		keywords: "and as assert async await break class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield None True False self"},
	{names: "javascript js jsx typescript ts tsx mjs", comment: []string{"//"}, block: []string{"/*", "*/"}, quotes: `"'`, long: []string{"`"},
		keywords: "async await break case catch class const continue debugger default delete do else enum export extends finally for from function if implements import in instanceof interface let new null of private protected public readonly return static super switch this throw true false try type typeof undefined var void while yield"},
	{names: "java kotlin kt scala groovy", comment: []string{"//"}, block: []string{"/*", "*/"}, quotes: `"'`, long: []string{`"""`},
		keywords: "abstract break case catch class const continue data def default do else enum extends final finally for fun if implements import in instanceof interface is new null object override package private protected public return sealed static super switch this throw throws trait true false try val var void when while int long double float boolean char byte"},
	{names: "c cpp c++ cc h hpp csharp cs objc swift php", comment: []string{"//"}, block: []string{"/*", "*/"}, quotes: `"'`,
		keywords: "auto bool break case catch char class const constexpr continue default delete do double echo else enum explicit extern false float for foreach func function guard if import include inline int let long namespace new nil null nullptr operator private protected public return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using var virtual void volatile while string"},
	{names: "rust rs", comment: []string{"//"}, block: []string{"/*", "*/"}, quotes: `"`,
		keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait type unsafe use where while true false Some None Ok Err"},
	{names: "bash sh shell zsh console shell-session", comment: []string{"#"}, quotes: `"'`,
		keywords: "case do done elif else esac exit export fi for function if in local read return set shift source then unset until while cd echo sudo"},
	{names: "ruby rb", comment: []string{"#"}, quotes: `"'`,
		keywords: "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require"},
	{names: "sql postgresql mysql sqlite", comment: []string{"--"}, block: []string{"/*", "*/"}, quotes: `"'`,
		keywords: "ADD ALTER AND AS ASC BY CASE CREATE CROSS DELETE DESC DISTINCT DROP ELSE END EXISTS FROM FULL GROUP HAVING IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER OUTER PRIMARY RIGHT SELECT SET TABLE THEN UNION UNIQUE UPDATE VALUES VIEW WHEN WHERE WITH select from where and or not insert into values update set delete create table join left right inner on group by order limit as null is in like distinct having union case when then else end"},
	{names: "json jsonc json5 jsonl", comment: []string{"//"}, quotes: `"`, keywords: "true false null"},
	{names: "yaml yml toml ini conf dockerfile makefile make hcl terraform", comment: []string{"#"}, quotes: `"'`,
		keywords: "true false null yes no FROM RUN COPY ADD ENV WORKDIR CMD ENTRYPOINT EXPOSE ARG USER"},
	{names: "lua haskell hs", comment: []string{"--"}, quotes: `"`,
		keywords: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while module import where let case of data type class instance deriving"},
	{names: "html xml svg vue", block: []string{"<!--", "-->"}, quotes: `"`},
	{names: "css scss less", block: []string{"/*", "*/"}, quotes: `"'`},
	{names: "diff patch"},
}

// languageOf returns the row of a name, or nil if there is none.
func languageOf(name string) *language {
	name = strings.ToLower(name)
	for i := range languages {
		if slices.Contains(strings.Fields(languages[i].names), name) {
			return &languages[i]
		}
	}
	return nil
}

// codeRows draws lines of code, indented by two cells. Lines that are too long continue in the next row.
func codeRows(p cli.Palette, lang string, lines []string, width int) []string {
	var out []string
	h := highlighter{p: p, lang: languageOf(lang)}
	if h.lang != nil {
		h.words = strings.Fields(h.lang.keywords)
	}
	room := max(4, width-2)
	for _, line := range lines {
		for _, row := range h.line(line, room) {
			out = append(out, "  "+row)
		}
	}
	return out
}

// highlighter colours consecutive lines.
type highlighter struct {
	p     cli.Palette
	lang  *language
	words []string
	until string // the end of a comment or string that continues on the next line
	style string // the style of that comment or string
}

// The styles of code.
const (
	styleWord    = "35"
	styleString  = "32"
	styleComment = "2"
	styleNumber  = "33"
)

// line draws a line in rows of at most room cells.
func (h *highlighter) line(line string, room int) []string {
	f := &codeFiller{p: h.p, room: room}
	switch {
	case h.lang == nil || !h.p.On:
		f.add(line, "")
	case h.lang.names == "diff patch":
		f.add(line, diffStyle(line))
	default:
		h.scan(line, f)
	}
	return append(f.rows, f.row.String())
}

func diffStyle(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "32"
	case strings.HasPrefix(line, "-"):
		return "31"
	case strings.HasPrefix(line, "@"):
		return "36"
	}
	return ""
}

// scan splits a line into its parts.
func (h *highlighter) scan(line string, f *codeFiller) {
	for line != "" {
		n, style := h.next(line)
		f.add(line[:n], style)
		line = line[n:]
	}
}

// next returns the length and the style of the first part of a line.
func (h *highlighter) next(line string) (int, string) {
	if h.until != "" {
		i := strings.Index(line, h.until)
		if i < 0 {
			return len(line), h.style
		}
		n := i + len(h.until)
		h.until = ""
		return n, h.style
	}
	for _, mark := range h.lang.comment {
		if strings.HasPrefix(line, mark) {
			return len(line), styleComment
		}
	}
	if b := h.lang.block; b != nil && strings.HasPrefix(line, b[0]) {
		h.until, h.style = b[1], styleComment
		return len(b[0]), styleComment
	}
	for _, mark := range h.lang.long {
		if strings.HasPrefix(line, mark) {
			h.until, h.style = mark, styleString
			return len(mark), styleString
		}
	}
	return h.token(line)
}

// token returns the length and the style of a string, a number, a word, or other text.
func (h *highlighter) token(line string) (int, string) {
	c := line[0]
	switch {
	case strings.IndexByte(h.lang.quotes, c) >= 0:
		return quoted(line), styleString
	case c >= '0' && c <= '9':
		return span1(line, func(c byte) bool { return wordByte(c) || c == '.' }), styleNumber
	case wordByte(c):
		n := span1(line, wordByte)
		if slices.Contains(h.words, line[:n]) {
			return n, styleWord
		}
		return n, ""
	}
	return 1, ""
}

// quoted returns the length of the string at the start of a line.
func quoted(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case line[0]:
			return i + 1
		}
	}
	return len(line)
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// span1 counts the first byte and the following bytes that fit.
func span1(line string, fits func(byte) bool) int {
	n := 1
	for n < len(line) && fits(line[n]) {
		n++
	}
	return n
}

// codeFiller cuts coloured text into rows.
type codeFiller struct {
	p    cli.Palette
	room int
	used int
	rows []string
	row  strings.Builder
}

func (f *codeFiller) add(text, style string) {
	for text != "" {
		head := text
		if w := ansi.StringWidth(text); f.used+w > f.room {
			head = ansi.Truncate(text, f.room-f.used, "")
			if head == "" && f.used > 0 {
				f.rows = append(f.rows, f.row.String())
				f.row.Reset()
				f.used = 0
				continue
			}
			if head == "" {
				head = text
			}
		}
		f.row.WriteString(f.p.Paint(style, head))
		f.used += ansi.StringWidth(head)
		text = text[len(head):]
	}
}
