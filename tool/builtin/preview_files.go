package builtin

import (
	"context"
	"crypto/sha256"
	"errors"
	"path"
	"path/filepath"

	"github.com/toolpost/toolpost/tool"
)

// previewWrite returns the changes that write_file would make.
func (f *Files) previewWrite(_ context.Context, in writeIn) (tool.Preview, error) {
	p, err := f.jail.resolve(in.Path, false)
	if missing(err) { // a folder on the way
		at, err := f.unmade(in.Path)
		f.show(at, nil, false)
		return change(at, "", in.Content, false), err
	}
	if err != nil {
		return tool.Preview{}, err
	}
	defer p.Close()
	before, existed, err := f.replaceable(p, in)
	if err != nil {
		return tool.Preview{}, err
	}
	f.show(p.path(), before, existed)
	return change(p.path(), string(before), in.Content, existed), nil
}

// unmade returns the path of a file in folders that do not exist yet.
func (f *Files) unmade(name string) (string, error) {
	dir, base := path.Split(path.Clean(filepath.ToSlash(name)))
	p, err := f.jail.resolve(dir, false)
	if missing(err) {
		at, err := f.unmade(dir)
		return path.Join(at, base), err
	}
	if err != nil {
		return "", err
	}
	defer p.Close()
	return path.Join(p.path(), base), nil
}

// previewEdit returns the changes that edit_file would make.
func (f *Files) previewEdit(_ context.Context, in editIn) (tool.Preview, error) {
	p, err := f.jail.resolve(in.Path, false)
	if err != nil {
		return tool.Preview{}, err
	}
	defer p.Close()
	data, text, err := f.edited(p, in)
	if err != nil {
		return tool.Preview{}, err
	}
	f.show(p.path(), data, true)
	return change(p.path(), string(data), text, true), nil
}

func change(at, before, after string, existed bool) tool.Preview {
	return tool.Preview{Files: []tool.FileChange{{Path: at, New: !existed, Before: before, After: after}}}
}

func missing(err error) bool {
	var known *tool.Error
	return errors.As(err, &known) && known.Code == tool.NotFound
}

// show records the content of a file while a person decides about a change of it.
func (f *Files) show(at string, data []byte, exists bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown[at] = content(data, exists)
}

// asShown refuses to change a file that has changed since a person was shown
// the preview.
func (f *Files) asShown(p *place, data []byte, exists bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if sum, ok := f.shown[p.path()]; ok && sum != content(data, exists) {
		delete(f.shown, p.path())
		return withFix(tool.Errorf(tool.Validation, "%s changed after the change to it was approved", p.asked), "Read it again and decide again.")
	}
	return nil
}

func content(data []byte, exists bool) (sum [sha256.Size]byte) {
	if exists {
		sum = sha256.Sum256(data)
	}
	return sum
}
