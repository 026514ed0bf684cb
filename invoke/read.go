package invoke

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/shorten"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// ReaderName is the name of the tool with which a model reads more of a result that it
// was shown in part; see [Runner.Set].
const ReaderName = "read_result"

// resultReader returns the tool [ReaderName]. It reads the results that sessions of
// this user kept in the folder of the session that runs it. Later turns of a chat and
// resumed runs can therefore continue. With NoSpill it reads only results of its own
// session. The caller must know the id, which is in the note of the view. A file that
// was changed is refused. A Runner adds the tool by itself if its mode is not
// Detailed. With Detailed, a program may add it to its tools for results that are
// longer than the limit.
func resultReader() tool.Tool {
	t := tool.New(ReaderName, "Read more of an earlier result that was shortened. Such a result ends in a note with its id. "+
		"With \"match\" it returns only the lines in which all these words occur; with \"from\" it goes on at a line. "+
		"It returns up to 200 lines, with their numbers, and says how to go on. Use it only if what you were shown does not have what you need; it runs nothing again and changes nothing.",
		schema.Schema(`{"type":"object","properties":{"id":{"type":"string","minLength":8,"maxLength":10,"description":"the id in the note at the end of the shortened result","examples":["0a1b2c3d"]},"match":{"type":"string","maxLength":200,"description":"return only lines in which all these words occur, in any case and also inside of longer words","examples":["error timeout"]},"from":{"type":"integer","minimum":1,"maximum":1000000000,"description":"the number of the first line to return","default":1,"examples":[201]}},"required":["id"],"additionalProperties":false}`),
		readResult)
	t.Effects, t.Origin = tool.ReadOnly|tool.Local, tool.Builtin
	return t
}

// mostLines is the largest number of a line that may be asked for.
const mostLines = 1_000_000_000

// validHandle is what a handle looks like: no path, and nothing else.
var validHandle = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9])?$`)

// readResult answers a call of the reader.
func readResult(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	var in struct {
		ID, Match string
		From      float64 // JSON writes 200 as 2e2, too
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return tool.Output{}, tool.Errorf(tool.Validation, "%v", err)
	}
	e, ok := tool.RuntimeOf(ctx).(*execution)
	if !ok {
		return tool.Output{}, tool.Errorf(tool.Execution, "%s is run outside of a session, which has no results", ReaderName)
	}
	if !validHandle.MatchString(in.ID) {
		return tool.Output{}, tool.Errorf(tool.NotFound, "no result has the id %.40q; take the id from the note at the end of a shortened result", in.ID)
	}
	text, err := e.session.kept(in.ID)
	if err != nil {
		return tool.Output{}, err
	}
	o := e.session.runner.Output
	q := shorten.Query{From: int(min(in.From, mostLines)), Match: in.Match}
	if limit := o.MaxChars; limit > 0 {
		q.Bytes = max(min(limit/2, 8000), 200) // with the numbers and the note it stays below the limit
	}
	return tool.Text(page(shorten.Page(text, q), in.ID, in.Match)), nil
}

// page writes a part of a result for the model.
func page(p shorten.Excerpt, id, match string) string {
	if len(p.Lines) == 0 && match != "" {
		return fmt.Sprintf("No line has the words %q. The result has %s; leave out \"match\" to read it.", match, lines(p.Of))
	}
	if len(p.Lines) == 0 {
		return fmt.Sprintf("The result has only %s.", lines(p.Of))
	}
	var b strings.Builder
	for i, l := range p.Lines {
		fmt.Fprintf(&b, "%d: %s\n", p.Numbers[i], l)
	}
	if more := p.Matching - (len(p.Lines) - p.Heads); more > 0 {
		next, _ := json.Marshal(struct {
			ID    string `json:"id"`
			Match string `json:"match,omitempty"`
			From  int    `json:"from"`
		}{id, match, p.Numbers[len(p.Numbers)-1] + 1})
		fmt.Fprintf(&b, "[%d more. To go on call %s with %s]", more, ReaderName, next)
	} else {
		fmt.Fprintf(&b, "[That is all; the result has %s]", lines(p.Of))
	}
	return b.String()
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// keep stores the whole of a result that is shown in part, in a file or, without
// files, in memory while there is room, and returns its handle.
func (s *Session) keep(j *job, text string, hash journal.Hash, cut *Truncated) (handle string, err error) {
	if !s.runner.Output.NoSpill {
		cut.Spill, handle, err = s.spill(j, text, hash)
		return handle, err
	}
	if !s.reads() {
		return "", nil
	}
	handle = s.handle(j, hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whole == nil {
		s.whole = make(map[string]string)
	}
	if old, ok := s.whole[handle]; ok { // it is the newest now
		s.heldSize -= len(old)
		s.held = slices.DeleteFunc(s.held, func(h string) bool { return h == handle })
	}
	s.held = append(s.held, handle)
	s.heldSize += len(text)
	s.whole[handle] = text
	for s.heldSize > heldBytes && len(s.held) > 1 { // the oldest go first
		s.heldSize -= len(s.whole[s.held[0]])
		delete(s.whole, s.held[0])
		s.held = s.held[1:]
	}
	return handle, nil
}

// kept returns the whole of a result.
func (s *Session) kept(handle string) (string, error) {
	s.mu.Lock()
	text, ok := s.whole[handle]
	s.mu.Unlock()
	if ok {
		return text, nil
	}
	gone := tool.Errorf(tool.NotFound, "no result has the id %s any more; call the tool again that returned it", handle)
	if s.runner.Output.NoSpill {
		return "", gone
	}
	root, err := privateDir(s.runner.Output.spillDir())
	if err != nil {
		return "", gone
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return "", gone
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return "", gone
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "-"+handle+".txt") {
			continue
		}
		f, err := root.Open(name)
		if err != nil {
			return "", gone
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, mostKept))
		if err != nil {
			return "", gone
		}
		if strings.HasSuffix(name, "-"+digest(string(b))+"-"+handle+".txt") {
			return string(b), nil
		}
		gone = tool.Errorf(tool.NotFound, "the file with the result %s was changed; call the tool again that returned it", handle)
	}
	return "", gone
}

// reads reports whether the model can read more of a result.
func (s *Session) reads() bool {
	t, ok := s.tools().Lookup(ReaderName)
	return ok && t.Origin == tool.Builtin
}

// params returns the names of all parameters of the session's tools. They show which
// ids a later call may need. A tool that takes any arguments makes the result nil:
// every id may be needed.
func (s *Session) params() []string {
	set := s.tools()
	s.mu.Lock()
	known, names := s.paramsOf == set, s.names
	s.mu.Unlock()
	if known {
		return names
	}
	var out []string
	for t := range set.All() {
		if t.Name == ReaderName && t.Origin == tool.Builtin {
			continue
		}
		properties := js.Get(t.Input, "properties")
		if js.Kind(properties) != '{' && len(t.Input) > 0 {
			return s.learnt(set, nil)
		}
		for name, v := range js.Members(properties) {
			if js.Is(js.Get(v, "type"), "object") { // its content may be anything
				return s.learnt(set, nil)
			}
			out = append(out, string(name))
		}
	}
	return s.learnt(set, out)
}
