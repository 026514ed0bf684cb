package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// ReadNamed reads a file of at most MaxLine bytes; "-" is standard input.
func ReadNamed(cmd *cobra.Command, file string) (string, error) {
	if file == "-" {
		return ReadAll(StandardInput(cmd), "standard input")
	}
	return ReadBounded(file)
}

// ReadInput reads FILE, or standard input if there is no argument or "-".
func ReadInput(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 0 && args[0] != "-" {
		return ReadBounded(args[0])
	}
	return ReadAll(StandardInput(cmd), "standard input")
}

func ReadBounded(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return ReadAll(f, file)
}

// ReadAll reads a text of at most MaxLine bytes.
func ReadAll(r io.Reader, name string) (string, error) {
	r, done, err := sized(r)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	defer done()
	var b strings.Builder
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			b.Grow(int(min(info.Size(), MaxLine)) + 1)
		}
	}
	_, err = io.Copy(&b, io.LimitReader(r, MaxLine+1))
	if err == nil && b.Len() > MaxLine {
		err = fmt.Errorf("%s is longer than %d bytes", name, MaxLine)
	}
	return b.String(), err
}

// sized returns a pipe with much data as a temporary file, to hold the text in memory only once. The caller calls done.
func sized(r io.Reader) (sized io.Reader, done func(), err error) {
	const little = 8 << 20
	none := func() {}
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return r, none, nil
		}
	}
	head, err := io.ReadAll(io.LimitReader(r, little))
	if err != nil || len(head) < little {
		return bytes.NewReader(head), none, err
	}
	temp, err := os.CreateTemp("", "toolpost-*")
	if err != nil {
		return nil, nil, err
	}
	os.Remove(temp.Name()) // on systems that can remove an open file, this leaves no file after a crash
	done = func() {
		temp.Close()
		os.Remove(temp.Name())
	}
	_, err = io.Copy(temp, io.LimitReader(io.MultiReader(bytes.NewReader(head), r), MaxLine+1))
	if err == nil {
		_, err = temp.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return temp, done, nil
}
