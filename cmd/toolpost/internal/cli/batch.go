package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/toolpost/toolpost/internal/js"
)

// MaxLine limits one line of a batch.
const MaxLine = 64 << 20

// Batch reads JSON lines from the command's input and writes one answer per line in the same order. If a line is too
// long or cannot be read, or its answer fails, panics or cannot be written, Batch writes {"id":…,"error":…} and
// continues. Empty lines are skipped. It stops early only if the input or output fails or the command is interrupted.
func Batch[In any, Out any](cmd *cobra.Command, answer func(In) (Out, error)) error {
	in := bufio.NewReaderSize(StandardInput(cmd), 64<<10)
	out := bufio.NewWriter(cmd.OutOrStdout())
	for {
		line, err := readLine(in)
		if len(bytes.TrimSpace(line)) > 0 {
			if err := writeRow(out, line, answer); err != nil {
				return err
			}
			if in.Buffered() == 0 { // no more input is buffered: the other side may wait for this answer
				if err := out.Flush(); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		if err := cmd.Context().Err(); err != nil {
			return errors.Join(err, out.Flush())
		}
	}
}

// rowError is the answer to a failed row.
type rowError struct {
	ID    json.RawMessage `json:"id"`
	Error string          `json:"error"`
}

// writeRow answers a line. If the answer cannot be written, it writes a rowError.
func writeRow[In any, Out any](w io.Writer, line []byte, answer func(In) (Out, error)) error {
	b, err := lineOf(answerLine(line, answer))
	if err != nil {
		if b, err = lineOf(rowError{rowID(line), "the answer cannot be written: " + err.Error()}); err != nil {
			return err
		}
	}
	_, err = w.Write(b)
	return err
}

func answerLine[In any, Out any](line []byte, answer func(In) (Out, error)) (out any) {
	defer func() {
		if r := recover(); r != nil { // the other rows must still be answered
			out = rowError{rowID(line), fmt.Sprintf("the row cannot be answered: %v", r)}
		}
	}()
	if len(line) > MaxLine {
		return rowError{json.RawMessage("null"), fmt.Sprintf("the line is longer than %d bytes", MaxLine)}
	}
	var row In
	dec := json.NewDecoder(bytes.NewReader(line))
	err := dec.Decode(&row)
	if err == nil && dec.More() {
		err = errors.New("more than one JSON value on the line")
	}
	if err == nil {
		var out Out
		if out, err = answer(row); err == nil {
			return out
		}
	}
	return rowError{rowID(line), js.Explain(err).Error()}
}

// rowID returns the "id" of a line, or null.
func rowID(line []byte) json.RawMessage {
	var head struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &head) != nil || len(head.ID) == 0 {
		return json.RawMessage("null")
	}
	return head.ID
}

// lineOf returns v as one line of JSON.
func lineOf(v any) ([]byte, error) {
	b, err := Marshal(v, "")
	for _, e := range lineEnds {
		b = bytes.ReplaceAll(b, []byte(e.end), []byte(e.escape))
	}
	return b, err
}

func WriteLine(w io.Writer, v any) error {
	b, err := lineOf(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// lineEnds are characters that some languages treat as the end of a line. In JSON they occur only in strings, where
// they may be escaped.
var lineEnds = []struct{ end, escape string }{{"\u0085", `\u0085`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`}}

// readLine returns the next line with its end. A line longer than MaxLine is cut one byte after it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece[:min(len(piece), MaxLine+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// PrintJSON writes v as an indented JSON document.
func PrintJSON(w io.Writer, v any) error {
	b, err := Marshal(v, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// EscapeUnseen escapes characters of JSON that could control a terminal. The meaning stays the same. JSON escapes
// characters below space itself.
func EscapeUnseen(text []byte) []byte {
	steers := func(r rune) bool { return r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) }
	if !bytes.ContainsFunc(text, steers) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if steers(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// Marshal is json.Marshal without HTML escapes, with a newline at the end, and with escapes for characters that could
// control a terminal.
func Marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return EscapeUnseen(b.Bytes()), err
}

func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
