package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/tool"
)

type searchIn struct {
	Query   string `json:"query"`
	Regexp  bool   `json:"regexp"`
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
}

func (f *Files) searchTool() tool.Tool {
	return define(tool.Tool{
		Name:    "search_files",
		Effects: tool.ReadOnly | tool.Local,
		Description: `Find lines that contain a text, in all files below a folder. Each match is returned as path:line: text.
Use it to find where something is written. Do not use it to list files by name; use list_files with a pattern instead. query must be a piece of a line, such as func main.
Note: upper and lower case are the same unless regexp is true. Binary files, files over 2 MiB and files that may hold secrets are passed over. At most 200 matches are returned; if there are more, ask for a narrower query, folder or pattern.`,
	}, `{"type":"object","additionalProperties":false,"required":["query"],"properties":{
"query":{"type":"string","minLength":1,"maxLength":1000,"description":"Text to look for, within one line."},
"regexp":{"type":"boolean","description":"Take the query as a regular expression in RE2 syntax, like func \\w+Test. Default: false."},
"path":{"type":"string","description":"Folder to search, relative to the working folder. Default: the working folder itself."},
"pattern":{"type":"string","description":"Search only files whose name matches this pattern, like *.go. Default: all."}}}`,
		`{"query":"retry","path":"docs","pattern":"*.md"}`, f.search)
}

func (f *Files) search(ctx context.Context, in searchIn) (tool.Output, error) {
	match, err := matcher(in)
	if err != nil {
		return tool.Output{}, err
	}
	p, err := f.folder(in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.Close()
	var b strings.Builder
	found, hidden, skipped := 0, 0, 0
	err = f.jail.walk(ctx, p.dir(), p.path(), maxDepth, &hidden, func(e entry) error {
		if ok, _ := path.Match(in.Pattern, e.info.Name()); in.Pattern != "" && !ok || !e.info.Mode().IsRegular() {
			return nil
		}
		data, size, err := e.read(maxSearched + 1)
		if err != nil || size > maxSearched || !isText(data, false) {
			skipped++
			return nil
		}
		found += grep(&b, e.path, data, match, maxMatches-found)
		if found >= maxMatches {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return tool.Output{}, f.jail.fail(in.Path, err)
	}
	switch {
	case found == 0:
		b.WriteString("no match\n")
	case found >= maxMatches:
		fmt.Fprintf(&b, "… there may be more than %d matches: ask for a narrower query, folder or pattern\n", maxMatches)
	}
	if skipped+hidden > 0 {
		fmt.Fprintf(&b, "(not searched: %d binary or large, %d off limits)\n", skipped, hidden)
	}
	return tool.Text(strings.TrimSuffix(b.String(), "\n")), nil
}

// matcher returns the function that decides whether a line matches.
func matcher(in searchIn) (func([]byte) bool, error) {
	if in.Pattern != "" {
		if _, err := path.Match(in.Pattern, ""); err != nil {
			return nil, tool.Errorf(tool.Validation, "%q is not a pattern: use * and ?", in.Pattern)
		}
	}
	switch {
	case in.Query == "":
		return nil, tool.Errorf(tool.Validation, "query is empty")
	case in.Regexp:
		re, err := regexp.Compile(in.Query)
		if err != nil {
			return nil, withFix(tool.Errorf(tool.Validation, "the query is not a regular expression: %v", err), "Correct it, or leave regexp out to look for the text as it is.")
		}
		return re.Match, nil
	}
	query := []byte(strings.ToLower(in.Query))
	return func(line []byte) bool { return bytes.Contains(bytes.ToLower(line), query) }, nil
}

// maxLine limits the shown part of a matching line.
const maxLine = 300

// grep writes the lines that match, at most limit, and returns their number.
func grep(b *strings.Builder, name string, data []byte, match func([]byte) bool, limit int) int {
	found, line := 0, 0
	for l := range bytes.Lines(data) {
		line++
		l = bytes.TrimRight(l, "\r\n")
		if !match(l) {
			continue
		}
		fmt.Fprintf(b, "%s:%d: %s\n", name, line, clip.Bytes(string(l), maxLine))
		if found++; found >= limit {
			break
		}
	}
	return found
}
