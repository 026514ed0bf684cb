package builtin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/toolpost/toolpost/tool"
)

type writeIn struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	Overwrite bool   `json:"overwrite"`
}

func (f *Files) writeTool() tool.Tool {
	return bound(previewed(define(tool.Tool{
		Name:    "write_file",
		Effects: tool.Idempotent | tool.Local,
		Description: `Write a whole text file. Folders on the way are made. The file is replaced at once or not at all.
Use it for new files. Do not use it to change a part of a file; use edit_file instead. path must be a file below the root.
Note: if the file exists, it is replaced only when overwrite is true, and never when it changed since you read it. At most 4 MiB.`,
	}, `{"type":"object","additionalProperties":false,"required":["path","content"],"properties":{
"path":{"type":"string","minLength":1,"description":"File to write, relative to the working folder, like docs/notes.md."},
"content":{"type":"string","description":"The whole text of the file, with a newline at its end."},
"overwrite":{"type":"boolean","description":"Replace the file if it exists. Default: false."}}}`,
		`{"path":"docs/notes.md","content":"# Notes\n"}`, f.write), f.previewWrite), func(_ context.Context, in writeIn) ([]tool.Pin, error) { return f.pins(in.Path) })
}

func (f *Files) write(_ context.Context, in writeIn) (tool.Output, error) {
	if len(in.Content) > maxEdit {
		return tool.Output{}, tool.Errorf(tool.Validation, "the content has %d bytes, and at most %d can be written", len(in.Content), maxEdit)
	}
	p, err := f.jail.resolve(in.Path, true)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.Close()
	before, existed, err := f.replaceable(p, in)
	if err == nil {
		err = f.asShown(p, before, existed)
	}
	if err == nil {
		err = f.replace(p, content(before, existed), in.Content)
	}
	if err != nil {
		return tool.Output{}, err
	}
	return written(p.path(), in.Content, existed), nil
}

// replaceable returns the file at a place, if there is one, and the reason why
// it may not be replaced.
func (f *Files) replaceable(p *place, in writeIn) (before []byte, existed bool, err error) {
	if p.info == nil && p.name != "" {
		return nil, false, nil
	}
	if before, _, err = p.read(maxEdit + 1); err == nil {
		err = f.mayReplace(in, p.path(), before)
	}
	return before, true, err
}

func (f *Files) mayReplace(in writeIn, at string, before []byte) error {
	seen, same := f.known(at, before)
	switch {
	case string(before) == in.Content:
		return nil // the content stays the same
	case seen && !same:
		return withFix(tool.Errorf(tool.Validation, "%s changed since you read it", in.Path), "Read it again and decide again.")
	case !in.Overwrite:
		return withFix(tool.Errorf(tool.Validation, "%s exists", in.Path), "Use edit_file to change it, another path, or overwrite: true to replace all of it.")
	}
	return nil
}

// replace writes a file next to its place and renames it. Readers never see
// half of it.
func (f *Files) replace(p *place, before [sha256.Size]byte, content string) error {
	mode := fs.FileMode(0o666)
	if p.info != nil {
		mode = p.info.Mode().Perm()
	}
	temp := ".toolpost-" + rand.Text()
	file, err := p.dir().OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return f.jail.fail(p.asked, err)
	}
	_, err = file.WriteString(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = p.dir().Rename(temp, p.name)
	}
	if err != nil {
		_ = p.dir().Remove(temp)
		return f.jail.fail(p.asked, err)
	}
	f.wrote(p.path(), before, content)
	return nil
}

func written(at, content string, existed bool) tool.Output {
	lines := strings.Count(content, "\n")
	if content != "" && !strings.HasSuffix(content, "\n") {
		lines++ // the last line lacks its newline
	}
	out := tool.Text(fmt.Sprintf("wrote %s: %s, %s", at, counted(len(content), "byte"), counted(lines, "line")))
	kind := "file_created"
	if existed {
		kind = "file_modified"
	}
	out.Did = []tool.SideEffect{{Type: kind, Path: at}}
	return out
}

type editIn struct {
	Path string `json:"path"`
	Old  string `json:"old_text"`
	New  string `json:"new_text"`
	All  bool   `json:"all"`
}

func (f *Files) editTool() tool.Tool {
	return bound(previewed(define(tool.Tool{
		Name:    "edit_file",
		Effects: tool.Local,
		Description: `Replace a piece of text in a file that you have read with read_file.
Use it to change a part of a file. Do not use it to make a new file; use write_file instead.
Note: old_text, such as a line that you read, must be in the file; it must stand in the file exactly once, with its white space; otherwise nothing is changed, and the error says how often it was found. The edit is refused if the file changed since you read it.`,
	}, `{"type":"object","additionalProperties":false,"required":["path","old_text","new_text"],"properties":{
"path":{"type":"string","minLength":1,"description":"File to edit, relative to the working folder."},
"old_text":{"type":"string","minLength":1,"description":"Text to replace, exactly as it stands in the file; include enough lines around it to be unique."},
"new_text":{"type":"string","description":"Text to put there instead; empty to delete it."},
"all":{"type":"boolean","description":"Replace every place where old_text stands. Default: false."}}}`,
		`{"path":"docs/notes.md","old_text":"colour: red","new_text":"colour: blue"}`, f.edit), f.previewEdit), func(_ context.Context, in editIn) ([]tool.Pin, error) { return f.pins(in.Path) })
}

func (f *Files) edit(_ context.Context, in editIn) (tool.Output, error) {
	p, err := f.jail.resolve(in.Path, false)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.Close()
	data, text, err := f.edited(p, in)
	if err == nil {
		err = f.asShown(p, data, true)
	}
	if err == nil {
		err = f.replace(p, content(data, true), text)
	}
	if err != nil {
		return tool.Output{}, err
	}
	return written(p.path(), text, true), nil
}

// edited returns the present content of the file at a place, and the content after the edit.
func (f *Files) edited(p *place, in editIn) (data []byte, text string, err error) {
	data, size, err := p.read(maxEdit + 1)
	if err != nil {
		return nil, "", err
	}
	seen, same := f.known(p.path(), data)
	switch {
	case size > maxEdit:
		err = tool.Errorf(tool.Execution, "%s has %d bytes, and at most %d can be edited", in.Path, size, maxEdit)
	case !isText(data, false):
		err = tool.Errorf(tool.Execution, "%s is not text", in.Path)
	case !seen:
		err = withFix(tool.Errorf(tool.Validation, "%s has not been read", in.Path), "Read it with read_file first, then edit.")
	case !same:
		err = withFix(tool.Errorf(tool.Validation, "%s changed since you read it", in.Path), "Read it again and make the edit again.")
	default:
		err = findable(in, strings.Count(string(data), in.Old))
	}
	if err != nil {
		return nil, "", err
	}
	text = strings.ReplaceAll(string(data), in.Old, in.New)
	if len(text) > maxEdit {
		err = tool.Errorf(tool.Validation, "the file would have %d bytes, and at most %d can be written", len(text), maxEdit)
	}
	return data, text, err
}

// findable describes the error in the text to replace.
func findable(in editIn, found int) error {
	switch {
	case in.Old == "":
		return tool.Errorf(tool.Validation, "old_text is empty")
	case in.Old == in.New:
		return tool.Errorf(tool.Validation, "old_text and new_text are the same")
	case found == 0:
		return withFix(tool.Errorf(tool.Validation, "old_text does not stand in %s", in.Path), "Copy it exactly from what read_file returned, with white space and punctuation.")
	case found > 1 && !in.All:
		return withFix(tool.Errorf(tool.Validation, "old_text stands in %s %d times", in.Path, found), "Add lines around it until it is unique, or set all: true.")
	}
	return nil
}

// counted is a number of things, in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
