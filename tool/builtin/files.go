package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// The limits of the file tools.
const (
	maxEntries  = 1000      // of a listing
	maxDepth    = 10        // of a listing or search
	maxText     = 256 << 10 // bytes of text in one reading
	maxImage    = 4 << 20   // bytes of an image
	maxEdit     = 4 << 20   // bytes of a file that is edited or written
	maxSearched = 2 << 20   // bytes of a file that is searched
	maxMatches  = 200
)

// Files are the tools for the files below one folder.
type Files struct {
	jail *jail
	mu   sync.Mutex
	seen map[string][sha256.Size]byte // content of each file when it was last read or written
	// shown is the content of each file when a preview of it was last made; that
	// of a file that was not there is zero.
	shown map[string][sha256.Size]byte
	// own is the content of each file that we wrote, before the first and after the last time.
	own map[string]ownContent
}

// ownContent is the content of a file around our writes.
type ownContent struct{ before, after [sha256.Size]byte }

// OpenFiles opens a folder for the file tools. Names that match a pattern of
// blocked are off limits (as in path.Match, in any part of a path, in any
// case), and so are names that commonly hold secrets. Close it when done.
func OpenFiles(dir string, blocked ...string) (*Files, error) {
	j, err := openJail(dir, blocked)
	if err != nil {
		return nil, err
	}
	return &Files{jail: j, seen: make(map[string][sha256.Size]byte), shown: make(map[string][sha256.Size]byte), own: make(map[string]ownContent)}, nil
}

// Close releases the folder.
func (f *Files) Close() error { return f.jail.root.Close() }

// Tools returns list_files, read_file, search_files, write_file and edit_file.
// The first three are read-only.
func (f *Files) Tools() []tool.Tool {
	return []tool.Tool{f.listTool(), f.readTool(), f.searchTool(), f.writeTool(), f.editTool()}
}

type listIn struct {
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
	Depth   int    `json:"depth"`
}

func (f *Files) listTool() tool.Tool {
	return define(tool.Tool{
		Name:    "list_files",
		Effects: tool.ReadOnly | tool.Local,
		Description: `List the files and folders below a folder, one per line, with sizes in bytes; folders end in "/".
Use it to find out what is there before you read or write. Do not use it to look for text inside files; use search_files instead. path must be a folder below the root, such as src/api.
Note: files that may hold secrets are not shown; how many are hidden is said at the end. At most 1000 entries are returned; if there are more, ask for a narrower folder or pattern.`,
	}, `{"type":"object","additionalProperties":false,"properties":{
"path":{"type":"string","description":"Folder to list, relative to the working folder, like docs or src/app. Default: the working folder itself."},
"pattern":{"type":"string","description":"Show only names that match this pattern, with * and ?, like *.go. Default: all."},
"depth":{"type":"integer","minimum":1,"maximum":10,"description":"How many levels to go down; 1 shows the folder itself. Default: 1."}}}`,
		`{"path":"docs","pattern":"*.md","depth":2}`, f.list)
}

func (f *Files) list(ctx context.Context, in listIn) (tool.Output, error) {
	p, err := f.folder(in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.Close()
	if in.Pattern != "" {
		if _, err := path.Match(in.Pattern, ""); err != nil {
			return tool.Output{}, tool.Errorf(tool.Validation, "%q is not a pattern: use * and ?", in.Pattern)
		}
	}
	var b strings.Builder
	shown, hidden := 0, 0
	err = f.jail.walk(ctx, p.dir(), p.path(), min(max(in.Depth, 1), maxDepth), &hidden, func(e entry) error {
		if ok, _ := path.Match(in.Pattern, e.info.Name()); in.Pattern != "" && !ok {
			return nil
		}
		if shown++; shown > maxEntries {
			return fs.SkipAll
		}
		b.WriteString(describe(e))
		return nil
	})
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return tool.Output{}, f.jail.fail(in.Path, err)
	}
	switch {
	case shown == 0:
		b.WriteString("nothing matches\n")
	case shown > maxEntries:
		fmt.Fprintf(&b, "… more than %d entries: ask for a narrower folder or pattern\n", maxEntries)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "(%d hidden: off limits)\n", hidden)
	}
	return tool.Text(strings.TrimSuffix(b.String(), "\n")), nil
}

func describe(e entry) string {
	switch {
	case e.info.IsDir():
		return e.path + "/\n"
	case e.info.Mode()&fs.ModeSymlink != 0:
		return e.path + "  (link)\n"
	}
	return fmt.Sprintf("%s  %d\n", e.path, e.info.Size())
}

// folder resolves the path of a folder.
func (f *Files) folder(name string) (*place, error) {
	p, err := f.jail.resolve(name, false)
	if err != nil {
		return nil, err
	}
	if p.name == "" {
		return p, nil
	}
	defer p.Close()
	if p.info == nil {
		return nil, f.jail.fail(name, fs.ErrNotExist)
	}
	return nil, withFix(tool.Errorf(tool.Validation, "%s is not a folder", name), "Use read_file for files.")
}

type readIn struct {
	Path  string `json:"path"`
	From  int    `json:"from_line"`
	Lines int    `json:"lines"`
}

func (f *Files) readTool() tool.Tool {
	return define(tool.Tool{
		Name:    "read_file",
		Effects: tool.ReadOnly | tool.Local,
		Description: `Read a text file, or look at an image (PNG, JPEG, GIF, WebP up to 4 MiB).
Use it before edit_file: a file must have been read to be edited. Do not use it on folders; use list_files instead. path must be a file below the root, such as docs/run.md.
Note: at most 256 KiB of text are returned at once; if the file is longer, the end of the answer says from which line to go on. Other binary files are refused with their size and type.`,
	}, `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","description":"File to read, relative to the working folder, like docs/notes.md."},
"from_line":{"type":"integer","minimum":1,"description":"First line to return, counted from 1. Default: 1."},
"lines":{"type":"integer","minimum":1,"description":"How many lines to return. Default: as many as fit."}}}`,
		`{"path":"docs/notes.md","from_line":1,"lines":200}`, f.read)
}

func (f *Files) read(_ context.Context, in readIn) (tool.Output, error) {
	p, err := f.jail.resolve(in.Path, false)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.Close()
	at := p.path()
	data, size, err := p.read(maxImage + 1)
	if err != nil {
		return tool.Output{}, err
	}
	if size <= maxImage {
		f.remember(at, data)
	}
	if kind := http.DetectContentType(data); strings.HasPrefix(kind, "image/") {
		if len(data) > maxImage {
			return tool.Output{}, tool.Errorf(tool.Execution, "%s is an image of %d bytes, and more than %d cannot be shown", in.Path, size, maxImage)
		}
		return tool.Output{Parts: []llm.Part{llm.Media{Kind: llm.Image, MIME: kind, Name: path.Base(at), Data: data}}}, nil
	}
	if !isText(data, size > int64(len(data))) {
		return tool.Output{}, tool.Errorf(tool.Execution, "%s is not text: %d bytes of %s", in.Path, size, fileType(at, data))
	}
	return tool.Text(cutLines(string(data), max(in.From, 1), in.Lines, size)), nil
}

// isText accepts UTF-8 without NUL. If the data was cut, half a rune at its end
// does not count.
func isText(data []byte, cut bool) bool {
	if cut {
		for i := len(data) - 1; i >= 0 && i >= len(data)-utf8.UTFMax; i-- {
			if utf8.RuneStart(data[i]) {
				if !utf8.FullRune(data[i:]) {
					data = data[:i]
				}
				break
			}
		}
	}
	return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data)
}

func fileType(name string, data []byte) string {
	if t := mime.TypeByExtension(filepath.Ext(name)); t != "" {
		return t
	}
	return http.DetectContentType(data)
}

// cutLines returns lines from the given first line, up to the given number and
// size, with a note about the rest.
func cutLines(text string, from, lines int, size int64) string {
	var b strings.Builder
	line := 0
	for l := range strings.Lines(text) {
		if line++; line < from {
			continue
		}
		if lines > 0 && line >= from+lines || b.Len()+len(l) > maxText {
			if b.Len() == 0 { // one line that does not fit
				b.WriteString(strings.ToValidUTF8(l[:min(len(l), maxText)], ""))
				line++
			}
			fmt.Fprintf(&b, "\n[%d bytes in all; go on with from_line %d]", size, line)
			return b.String()
		}
		b.WriteString(l)
	}
	if line < from && from > 1 {
		return fmt.Sprintf("[the file has only %d lines]", line)
	}
	if int64(len(text)) < size {
		fmt.Fprintf(&b, "\n[the rest of the file's %d bytes is too far in to be read]", size)
	}
	return b.String()
}

// remember records the content of a file when the model last saw it.
func (f *Files) remember(at string, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[at] = sha256.Sum256(data)
}

// wrote records the content that we wrote to a file, and what it had before.
func (f *Files) wrote(at string, before [sha256.Size]byte, content string) {
	f.remember(at, []byte(content))
	f.mu.Lock()
	defer f.mu.Unlock()
	o, ok := f.own[at]
	if !ok || o.after != before {
		o.before = before
	}
	o.after = sha256.Sum256([]byte(content))
	f.own[at] = o
	if _, ok := f.shown[at]; ok {
		f.shown[at] = o.after
	}
}

// known reports whether the model has seen the file, and whether the file is unchanged since.
func (f *Files) known(at string, data []byte) (seen, same bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum, ok := f.seen[at]
	return ok, ok && sum == sha256.Sum256(data)
}
