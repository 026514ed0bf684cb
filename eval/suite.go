package eval

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Limits of a suite. A file that exceeds one is refused.
const (
	MaxCases  = 100_000
	maxFiles  = 200     // of a case
	maxFile   = 1 << 20 // bytes of one of them
	maxTurns  = 100
	maxWeight = 1_000_000
)

// Suite is a list of cases.
type Suite struct {
	Name        string
	Description string
	Cases       []Case
	// Hash identifies the content of the suite: a run continues only with the suite it began with.
	Hash string
	// Source is the file or the name from which the suite was read.
	Source string
}

// Case is one task with its expectations.
type Case struct {
	ID       string
	System   string
	Messages []llm.Message
	Tools    []llm.ToolDef
	Choice   llm.ToolChoice
	// Output is the schema of the answer; nil asks for text.
	Output    json.RawMessage
	MaxTokens int
	// Results are what the tools return, by their names. With Results, Files or a User the case is a conversation, in
	// which calls run; otherwise the first answer counts and nothing runs.
	Results map[string]CannedResult
	// Files are in the folder of the built-in file tools when the case begins. The model can list, read, search, write
	// and edit them.
	Files map[string]string
	User  *User
	// Turns limits the turns of a conversation; 0 means 10.
	Turns  int
	Tags   []string
	Weight float64 // 1 unless the file has another
	Expect Expect
	// Line is where the case begins in its file.
	Line int

	ability string // that a probe tests
}

// CannedResult is the output that a tool of a case returns.
type CannedResult struct {
	Text  string
	Error bool
}

// User is a model that plays the person of a conversation.
type User struct {
	// Model is the id of the model that plays the person.
	Model string
	// Goal is what the person wants, which the tested model does not see.
	Goal string
	// Turns limits the messages of the person after the first; 0 means 3.
	Turns int
}

// Expect holds the expectations of a case. All that are set must hold.
type Expect struct {
	// Calls must be made, and no others unless Extra is set. Ordered demands their order.
	Calls   []ExpectedCall
	Ordered bool
	Extra   bool
	// NoCall demands that no tool is called, SomeCall that any is.
	NoCall, SomeCall bool
	// Answer is a schema that the answer, as JSON, must match.
	Answer json.RawMessage
	Text   TextMatch
	// Files are looked at when the conversation is over.
	Files map[string]FileMatch
	// Rubric is judged by a model.
	Rubric string
}

// ExpectedCall is a call that must be made. Arguments without an expectation must not be there.
type ExpectedCall struct {
	Name string
	Args map[string]Match
	// AnyArgs accepts all arguments.
	AnyArgs bool
}

// FileMatch is a condition on a file.
type FileMatch struct {
	Absent bool
	TextMatch
}

// IsConversation reports whether the calls of the case run and more than one answer counts.
func (c *Case) IsConversation() bool {
	return len(c.Results) > 0 || len(c.Files) > 0 || c.User != nil || c.Turns > 1
}

func (e *Expect) empty() bool {
	return len(e.Calls) == 0 && !e.NoCall && !e.SomeCall && e.Answer == nil && e.Text.empty() && len(e.Files) == 0 && e.Rubric == ""
}

// check returns the first mistake of a case.
func (c *Case) check() error {
	e := &c.Expect
	switch {
	case c.ID == "":
		return fmt.Errorf("the case has no id")
	case len(c.Messages) == 0:
		return fmt.Errorf("the case has neither a task nor messages")
	case c.Messages[len(c.Messages)-1].Role == llm.RoleAssistant:
		return fmt.Errorf("the last message must not be the model's")
	case e.empty():
		return fmt.Errorf("the case expects nothing; set calls, some_call, no_call, answer, text, files or judge")
	case e.NoCall && (len(e.Calls) > 0 || e.SomeCall), e.SomeCall && len(e.Calls) > 0:
		return fmt.Errorf("calls, some_call and no_call exclude each other")
	case !(c.Weight >= 0 && c.Weight <= maxWeight):
		return fmt.Errorf("weight must be between 0 and %d", maxWeight)
	case c.MaxTokens < 0:
		return fmt.Errorf("max_tokens must not be below 0")
	case c.User != nil && (c.User.Turns < 0 || c.User.Turns > maxTurns):
		return fmt.Errorf("user.turns must be between 1 and %d", maxTurns)
	case c.Turns < 0 || c.Turns > maxTurns:
		return fmt.Errorf("turns must be between 1 and %d", maxTurns)
	case len(e.Files) > 0 && len(c.Files) == 0:
		return fmt.Errorf("expect.files needs files, which give the case a folder")
	case len(c.Files) > maxFiles:
		return fmt.Errorf("%d files, and the limit is %d", len(c.Files), maxFiles)
	}
	for name, text := range c.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("the file %q is not below the folder of the case", name)
		}
		if len(text) > maxFile {
			return fmt.Errorf("file %s has %d bytes, and the limit is %d", name, len(text), maxFile)
		}
	}
	return c.checkTools()
}

func (c *Case) checkTools() error {
	var names []string
	for _, d := range c.Tools {
		if slices.Contains(names, d.Name) {
			return fmt.Errorf("two tools are named %s", d.Name)
		}
		names = append(names, d.Name)
		if _, err := schema.Compile(d.Schema); err != nil {
			return fmt.Errorf("the schema of tool %s: %w", d.Name, err)
		}
	}
	if len(c.Files) > 0 {
		names = append(names, fileTools...)
	}
	for name := range c.Results {
		if !slices.Contains(names, name) {
			return fmt.Errorf("results names the tool %s, which the case does not have", name)
		}
	}
	if name := c.Choice.Name; name != "" && !slices.Contains(names, name) {
		return fmt.Errorf("choice names the tool %s, which the case does not have", name)
	}
	for _, call := range c.Expect.Calls {
		if !slices.Contains(names, call.Name) {
			return fmt.Errorf("calls names the tool %s, which the case does not have", call.Name)
		}
	}
	for _, s := range []json.RawMessage{c.Output, c.Expect.Answer} {
		if s != nil {
			if _, err := schema.Compile(schema.Schema(s)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileTools are the built-in tools that a case with files has.
var fileTools = []string{"list_files", "read_file", "search_files", "write_file", "edit_file"}

// isCaseID reports whether s is a letter or digit and at most 199 more letters, digits and signs. A regular expression
// with these classes and this bound allocates 8 MB before main.
func isCaseID(s string) bool {
	n := 0
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && (n == 0 || !strings.ContainsRune("_.,:/+ -", r)) {
			return false
		}
		n++
	}
	return 0 < n && n <= 200
}

// finish checks the cases of a suite and computes its hash.
func (s *Suite) finish(source string) error {
	if len(s.Cases) == 0 {
		return fmt.Errorf("%s: the suite has no cases", source)
	}
	if len(s.Cases) > MaxCases {
		return fmt.Errorf("%s: %d cases, and the limit is %d", source, len(s.Cases), MaxCases)
	}
	lines := make(map[string]int, len(s.Cases))
	for i := range s.Cases {
		c := &s.Cases[i]
		err := c.check()
		if before, twice := lines[c.ID]; err == nil && twice {
			err = fmt.Errorf("the case of line %d has the same id", before)
		}
		if err == nil && !isCaseID(c.ID) {
			err = fmt.Errorf("an id has up to 200 letters, digits, spaces and . , : / _ + -")
		}
		if err != nil {
			return fmt.Errorf("%s:%d: case %q: %w", source, c.Line, c.ID, err)
		}
		lines[c.ID] = c.Line
	}
	return nil
}

// Select returns the suite with those of its cases that have one of the tags, or all if there are none.
func (s *Suite) Select(tags ...string) *Suite {
	if len(tags) == 0 {
		return s
	}
	return s.part(func(c *Case) bool {
		return slices.ContainsFunc(c.Tags, func(t string) bool { return slices.Contains(tags, t) })
	})
}

// Sample returns the suite with n of its cases, spread evenly over the suite, or all if it has no more.
func (s *Suite) Sample(n int) *Suite {
	if n <= 0 || n >= len(s.Cases) {
		return s
	}
	i := -1
	return s.part(func(*Case) bool {
		i++
		return (i+1)*n/len(s.Cases) > i*n/len(s.Cases)
	})
}

// JoinSuites returns the cases of several suites as one. The id of a case begins with the name of its suite.
func JoinSuites(name string, list ...*Suite) *Suite {
	out := &Suite{Name: name, Source: name}
	text := name
	for _, s := range list {
		text += "\n" + s.Hash
		for _, c := range s.Cases {
			c.ID = s.Name + "/" + c.ID
			out.Cases = append(out.Cases, c)
		}
	}
	out.Hash = hashText(text)
	return out
}

// part returns the suite with the cases that keep accepts. Its hash is that of the cases: two parts are two suites.
func (s *Suite) part(keep func(*Case) bool) *Suite {
	out := *s
	out.Cases = nil
	text := s.Hash
	for i := range s.Cases {
		if keep(&s.Cases[i]) {
			out.Cases = append(out.Cases, s.Cases[i])
			text += "\n" + s.Cases[i].ID
		}
	}
	out.Hash = hashText(text)
	return &out
}
