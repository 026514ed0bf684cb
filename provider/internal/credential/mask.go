package credential

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/secret"
)

// leastShown is the length from which a key is also removed from the text of a
// model. A shorter key may be a placeholder like "lm-studio", which models mention.
const leastShown = 16

// Mask removes the key of a vendor from the bytes of an answer.
type Mask struct {
	key    string
	find   *secret.Finder // finds everything that Redact may change
	spoken []string       // forms that are also removed from the text of the model, longest first
	// escaped finds the same keys in JSON where some characters are escaped.
	escaped *secret.Set
	// longest is the length of the longest form.
	longest int
}

// NewMask returns the mask of a key.
func NewMask(key string) *Mask {
	m := &Mask{key: key}
	var forms, shown []string
	values, signs := secretsOf(key)
	if signs {
		forms = append(forms, signatureMark)
	}
	for _, v := range secret.Values(values) {
		forms = append(forms, secret.Forms(v)...)
		if len(v) >= leastShown {
			m.spoken, shown = append(m.spoken, secret.Forms(v)...), append(shown, v)
		}
	}
	m.escaped = secret.NewSet(shown...)
	slices.SortStableFunc(m.spoken, func(a, b string) int { return len(b) - len(a) })
	for _, f := range forms {
		m.longest = max(m.longest, len(f))
	}
	m.find = secret.NewFinder(forms...)
	return m
}

// escape is how JSON escapes of single bytes begin. Some programs write "+" and "&"
// like that.
var escape = []byte(`\u00`)

// Suspects reports whether b may contain the key.
func (m *Mask) Suspects(b []byte) bool {
	return m.find.In(b) || (bytes.Contains(b, escape) || escapesPercent(b)) && m.escaped.In(b)
}

// escapesPercent reports whether b contains percent escapes like %2D. A program may
// escape any character.
func escapesPercent(b []byte) bool {
	for {
		at := bytes.IndexByte(b, '%')
		if at < 0 || len(b) < at+3 {
			return false
		}
		if b = b[at+1:]; hexDigit(b[0]) && hexDigit(b[1]) {
			return true
		}
	}
}

func hexDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// Redact returns complete events of a stream, or a document, without the key. It
// returns b itself if it does not contain the key.
func (m *Mask) Redact(b []byte) []byte {
	switch {
	case m == nil || !m.Suspects(b):
		return b
	case eventstream.Begins(b):
		return m.redactFrames(b)
	}
	var out []byte
	for line := range bytes.SplitAfterSeq(b, []byte("\n")) {
		out = append(out, m.redactLine(line)...)
	}
	return out
}

// redactLine is Redact for one line. Comments, ids and names of events are not text
// of a model, so short keys are removed from them too.
func (m *Mask) redactLine(line []byte) []byte {
	if field, _, ok := bytes.Cut(line, []byte(":")); ok && string(field) != "data" && !bytes.ContainsAny(field, "{[\"") {
		return []byte(Redact(string(line), m.key))
	}
	for _, form := range m.spoken {
		line = bytes.ReplaceAll(line, []byte(form), []byte(markFor(form)))
	}
	line, _ = m.escaped.Redact(line)
	return line
}

// markFor returns the replacement for a form of the key. Numbers in a JSON document
// become a number.
func markFor(form string) string {
	if strings.Trim(form, "0123456789, ") == "" {
		return "0"
	}
	return secret.Mark("value")
}

// redactFrames is Redact for frames, and renews their checksums.
func (m *Mask) redactFrames(b []byte) []byte {
	var out []byte
	for frames := eventstream.NewReader(bytes.NewReader(b)); ; {
		f, err := frames.Next()
		if err != nil { // bytes that are not a frame are not passed on
			return out
		}
		f.Name, f.Message, f.Payload = Redact(f.Name, m.key), Redact(f.Message, m.key), m.redactLine(f.Payload)
		if out, err = eventstream.Append(out, f); err != nil {
			return out
		}
	}
}

// Masks caches the masks of the keys that a client uses.
type Masks struct {
	mu sync.Mutex
	by map[string]*Mask
}

// maxMasks limits how many keys are remembered.
const maxMasks = 256

// Of returns the mask of a key, or nil if there is nothing to hide.
func (s *Masks) Of(key string) *Mask {
	if len(key) < secret.Least {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.by[key]
	if m == nil {
		if m = NewMask(key); s.by == nil || len(s.by) >= maxMasks {
			s.by = make(map[string]*Mask)
		}
		s.by[key] = m
	}
	return m
}

// Reader reads an answer without the key. Bytes that end a line are returned at
// once, because no key continues on the next line.
type Reader struct {
	src  io.Reader
	mask *Mask
	out  []byte // read, and not yet returned
	held []byte // the end of the bytes read, which may be the beginning of a key
	err  error  // after both
}

// NewReader returns a reader of src. A nil mask removes nothing.
func NewReader(src io.Reader, m *Mask) *Reader { return &Reader{src: src, mask: m} }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.src.Read(p)
		whole := err != nil || n > 0 && p[n-1] == '\n'
		if r.mask == nil || whole && len(r.held) == 0 && !r.mask.Suspects(p[:n]) {
			return n, err
		}
		text := r.mask.Redact(append(r.held, p[:n]...))
		keep := 0
		if !whole {
			keep = min(len(text), r.mask.longest-1)
		}
		r.out, r.held, r.err = text[:len(text)-keep], bytes.Clone(text[len(text)-keep:]), err
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}
