package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong is the error of a line that is longer than a message may be.
var ErrTooLong = errors.New("a message is too long")

// tooLong is an [ErrTooLong] with the limit.
type tooLong int

func (e tooLong) Error() string {
	return fmt.Sprintf("a message exceeded the configured maximum of %d bytes", int(e))
}
func (e tooLong) Is(target error) bool { return target == ErrTooLong }

// byteOrderMark is dropped at the beginning of a stream or body: some programs on Windows write it.
var byteOrderMark = []byte("\ufeff")

// WithoutMark returns the text of r without a byte order mark at its beginning.
func WithoutMark(r io.Reader) io.Reader { return &unmarked{from: bufio.NewReader(r)} }

type unmarked struct {
	from  *bufio.Reader
	begun bool
}

// Read implements [io.Reader].
func (u *unmarked) Read(p []byte) (int, error) {
	if !u.begun {
		u.begun = true
		if first, _ := u.from.Peek(len(byteOrderMark)); bytes.Equal(first, byteOrderMark) {
			_, _ = u.from.Discard(len(first)) // bytes that were peeked at
		}
	}
	return u.from.Read(p)
}

// LineReader reads lines of bounded length from a peer. It is the only reader in front of the SDK, for programs, for
// clients and for streams of events.
type LineReader struct {
	from  *bufio.Reader
	max   int
	begun bool
}

// NewLineReader returns a reader of lines of up to max bytes.
func NewLineReader(r io.Reader, max int) *LineReader {
	return &LineReader{from: bufio.NewReaderSize(r, 64<<10), max: max}
}

// Next returns the next line, with its end. A line that is too long is an [ErrTooLong].
func (l *LineReader) Next() ([]byte, error) {
	line, long, err := l.read(l.max, false)
	if long {
		return nil, tooLong(l.max)
	}
	return line, err
}

// NextOrDrop is like Next, but it drops a line that is too long and reports it.
func (l *LineReader) NextOrDrop() (line []byte, dropped bool, err error) { return l.read(l.max, true) }

// read reads a line of up to most bytes. It reads a longer line to its end only if it is to be dropped.
func (l *LineReader) read(most int, drop bool) (line []byte, long bool, err error) {
	for {
		part, err := l.from.ReadSlice('\n')
		if !l.begun && len(part) > 0 {
			part, l.begun = bytes.TrimPrefix(part, byteOrderMark), true
		}
		if long = long || len(line)+len(part) > most; long {
			if line = nil; !drop {
				return nil, true, nil
			}
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
