package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/toolpost/toolpost/internal/clip"
)

// ShortDuration formats a duration in a few characters.
func ShortDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// StartingWith returns the names with a prefix, without duplicates.
func StartingWith(names []string, word string) []string {
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, word) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// TrimNewline removes only the newline of a line, because every other byte counts.
func TrimNewline(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\n")) }

// Columns returns the width of the terminal w, else 80.
func Columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 20 {
			return n
		}
	}
	return 80
}

func Absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

// MaxTask limits the size of a task. Longer material belongs in a file that tools can read in parts.
const MaxTask = 1 << 20

func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// FirstLine returns the first line of text, shortened to n characters.
func FirstLine(text string, n int) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if short := clip.Runes(line, n); short != line || rest == "" {
		return short
	}
	return line + " …"
}

func CountAs(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// ReplaceFile replaces a file atomically. An existing file keeps its mode, and a symbolic link is followed.
func ReplaceFile(path string, content []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", path)
		}
		mode = info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
