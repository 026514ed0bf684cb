package invoke

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// spillDir is the folder of the files.
func (o ResultView) spillDir() string {
	if o.SpillDir != "" {
		return o.SpillDir
	}
	return filepath.Join(os.TempDir(), "toolpost-"+strconv.Itoa(os.Getuid()))
}

// spill writes the whole of an output, which is free of secrets, to a separate file
// and returns its path and the end of its name, which is its handle. The file is new,
// and readable by this user alone.
func (s *Session) spill(j *job, text string, hash journal.Hash) (path, handle string, err error) {
	dir := s.runner.Output.spillDir()
	root, err := privateDir(dir)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	sum := s.handle(j, hash)
	for try := range 10 {
		handle = sum
		if try > 0 { // the same call of another session, or somebody else's file
			handle += "-" + strconv.Itoa(try)
		}
		name := tool.SafeName(j.tool.Name) + "-" + digest(text) + "-" + handle + ".txt"
		err = writeNew(root, name, text)
		if !errors.Is(err, fs.ErrExist) {
			return filepath.Join(dir, name), handle, err
		}
	}
	return "", "", err
}

// handle names the result of a call, within the folder of this user.
func (s *Session) handle(j *job, hash journal.Hash) string {
	run := ""
	if s.rec != nil {
		run = s.rec.Run()
	}
	return digest(run + "\x00" + j.call.ID + "\x00" + string(hash))
}

// digest is a short hash. The name of a file holds that of its text, and a file that
// was changed is therefore not taken for the result.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

func writeNew(root *os.Root, name, text string) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// privateDir opens a folder that belongs to this user alone, making it if it is
// missing. A symbolic link in its place is refused: its author would choose where the
// files go.
func privateDir(dir string) (*os.Root, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	before, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s is not a folder but a %s", dir, before.Mode().Type())
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	after, err := root.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s was replaced while it was opened", dir)
	}
	if err == nil && after.Mode().Perm()&0o077 != 0 {
		err = root.Chmod(".", 0o700) // fails if it belongs to somebody else
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}
