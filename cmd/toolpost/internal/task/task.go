// Package task reads the task of a run: words, standard input and attached files.
package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
)

// The limits of the files attached to a task.
const (
	MaxAttached      = 32       // files
	maxAttachedBytes = 16 << 20 // all files together
)

// attachments reads the files of -f. A "-" is standard input.
func attachments(cmd *cobra.Command, files []string) ([]llm.Part, error) {
	if len(files) > MaxAttached {
		return nil, cli.Usagef(cmd, "%d files are given; %d can be, and tools can read more", len(files), MaxAttached)
	}
	var parts []llm.Part
	left := int64(maxAttachedBytes)
	for _, file := range files {
		name, data, err := readAttached(cmd, file, left)
		if err != nil {
			return nil, err
		}
		left -= int64(len(data))
		part, err := Attachment(name, data)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// readAttached reads a file of at most the given number of bytes.
func readAttached(cmd *cobra.Command, file string, most int64) (name string, data []byte, err error) {
	name = file
	var from io.Reader
	if file == "-" {
		name, from = "standard input", cli.StandardInput(cmd)
	} else {
		f, err := os.Open(file)
		if err != nil {
			return "", nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return "", nil, fmt.Errorf("%s is a folder; name its files, or let tools look into it", file)
		}
		from = f
	}
	data, err = io.ReadAll(io.LimitReader(from, most+1))
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%s: %w", name, err)
	case int64(len(data)) > most:
		return "", nil, fmt.Errorf("%s is too long: the files attached to a task can have %d MiB together", name, maxAttachedBytes>>20)
	}
	return name, data, nil
}

// Attachment returns a file as a part of a message. Images and PDFs are unchanged. Text is put in a fence that is
// longer than any fence in the text.
func Attachment(name string, data []byte) (llm.Part, error) {
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	base := filepath.Base(name)
	switch {
	case len(data) == 0:
		return nil, fmt.Errorf("%s is empty", name)
	case slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return llm.Media{Kind: llm.Image, MIME: kind, Name: base, Data: data}, nil
	case kind == "application/pdf":
		return llm.Media{Kind: llm.Document, MIME: kind, Name: base, Data: data}, nil
	case !utf8.Valid(data) || strings.ContainsRune(string(data), 0):
		return nil, fmt.Errorf("%s is neither UTF-8 text, an image (PNG, JPEG, GIF, WebP) nor a PDF", name)
	case len(data) > cli.MaxTask:
		return nil, fmt.Errorf("%s has more than %d bytes of text; put it below --root and name it in the task, and tools read it piece by piece", name, cli.MaxTask)
	}
	text := strings.TrimSuffix(string(data), "\n")
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return llm.Text{Text: fmt.Sprintf("\n\nThe content of %s:\n%s\n%s\n%s", cli.InOneLine(name), fence, text, fence), Origin: llm.OriginDocument}, nil
}

// longestRun returns the length of the longest run of a character.
func longestRun(text string, c byte) int {
	longest, n := 0, 0
	for i := range len(text) {
		if text[i] != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// piped reports whether standard input is a pipe or a file, and so may hold input for the task. Terminals and devices
// do not count.
func piped(cmd *cobra.Command) bool {
	f, ok := cmd.InOrStdin().(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&fs.ModeNamedPipe != 0)
}

// pipedInput reads standard input when the task does not name it. It returns nil if the input is empty.
func pipedInput(cmd *cobra.Command) (llm.Part, error) {
	waiting := time.AfterFunc(2*time.Second, func() {
		fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: waiting for standard input, which is a pipe; </dev/null says that there is none")
	})
	defer waiting.Stop()
	name, data, err := readAttached(cmd, "-", maxAttachedBytes)
	if err != nil || len(strings.TrimSpace(string(data))) == 0 {
		return nil, err
	}
	return Attachment(name, data)
}

// Read builds the message for the model from the task, standard input and the attached files. If it is optional
// and the input is missing, the message is empty.
func Read(cmd *cobra.Command, words, files []string, optional bool) (llm.Message, error) {
	besides := len(words) > 0 && !slices.Contains(words, "-") && !slices.Contains(files, "-") && piped(cmd)
	parts, err := readTask(cmd, words, optional)
	if err != nil {
		return llm.Message{}, err
	}
	if besides {
		part, err := pipedInput(cmd)
		if err != nil {
			return llm.Message{}, err
		}
		if part != nil {
			parts = append(parts, part)
		}
	}
	more, err := attachments(cmd, files)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = context.Canceled
		}
		return llm.Message{}, err
	}
	return llm.Message{Role: llm.RoleUser, Parts: append(parts, more...)}, nil
}

// readTask joins the words of a task. Each "-" is replaced by standard input, which is a document unless it is the whole
// task.
func readTask(cmd *cobra.Command, args []string, optional bool) ([]llm.Part, error) {
	in := cmd.InOrStdin()
	if file, ok := in.(*os.File); len(args) == 0 && !optional && !(ok && cli.IsTerminal(file)) {
		args = []string{"-"}
	}
	var texts []llm.Text
	task := ""
	for i, word := range args {
		var origin llm.TextOrigin
		if word == "-" {
			b, err := io.ReadAll(io.LimitReader(cli.StandardInput(cmd), cli.MaxTask+1))
			if err != nil {
				return nil, fmt.Errorf("standard input: %w", err)
			}
			if word = string(b); len(args) > 1 {
				origin = llm.OriginDocument
			}
		}
		if i > 0 {
			word = " " + word
		}
		task += word
		if n := len(texts); n > 0 && texts[n-1].Origin == origin {
			texts[n-1].Text += word
		} else {
			texts = append(texts, llm.Text{Text: word, Origin: origin})
		}
	}
	switch task = strings.TrimSpace(task); {
	case len(task) > cli.MaxTask:
		return nil, fmt.Errorf("the task is longer than %d bytes; put long material into a file below --root and name the file", cli.MaxTask)
	case strings.ToValidUTF8(task, "") != task:
		return nil, errors.New("the task is not UTF-8 text")
	case task == "" && !optional:
		return nil, cli.Usagef(cmd, "what is the task? give it as an argument, or - and standard input")
	}
	return trimmed(texts), nil
}

// trimmed returns texts without the white space at both ends, and without empty ones there.
func trimmed(texts []llm.Text) (parts []llm.Part) {
	for len(texts) > 0 && strings.TrimSpace(texts[0].Text) == "" {
		texts = texts[1:]
	}
	for len(texts) > 0 && strings.TrimSpace(texts[len(texts)-1].Text) == "" {
		texts = texts[:len(texts)-1]
	}
	for i, t := range texts {
		if i == 0 {
			t.Text = strings.TrimLeftFunc(t.Text, unicode.IsSpace)
		}
		if i == len(texts)-1 {
			t.Text = strings.TrimRightFunc(t.Text, unicode.IsSpace)
		}
		parts = append(parts, t)
	}
	return parts
}
