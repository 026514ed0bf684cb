package provider

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/secret"
)

// leastShown is the length from which on a key is also looked for in what a model says. A shorter one
// may be a word that stands for a key, like "lm-studio", and models speak of such.
const leastShown = 16

// mask takes the key of a vendor out of the bytes of an answer that is passed on.
type mask struct {
	key    string
	find   *secret.Finder // of anything that redact changes, or may change
	spoken []string       // forms that are taken out of what the model says too, longest first
	// escaped are the same keys, to be found in JSON some of whose characters are escaped.
	escaped *secret.Set
	// longest is the length of the longest form that find finds.
	longest int
}

func newMask(key string) *mask {
	m := &mask{key: key}
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

// escape begins the bytes of a key where JSON has them escaped one by one, as some programs do with "+" or "&".
var escape = []byte(`\u00`)

// suspects reports whether the key may stand in b. Text in which nothing is escaped is looked through for one byte more, which
// costs next to nothing.
func (m *mask) suspects(b []byte) bool {
	return m.find.In(b) || (bytes.Contains(b, escape) || escapesPercent(b)) && m.escaped.In(b)
}

// escapesPercent reports whether characters stand in b as those of addresses may, like %2D: a program may write all of them so,
// also those that need not be.
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

// redact returns whole events of a stream, or a document, without the key. It is b itself where there is none.
func (m *mask) redact(b []byte) []byte {
	switch {
	case m == nil || !m.suspects(b):
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

// redactLine is redact for one line. Comments, ids and names of events are nothing that a model says.
func (m *mask) redactLine(line []byte) []byte {
	if field, _, ok := bytes.Cut(line, []byte(":")); ok && string(field) != "data" && !bytes.ContainsAny(field, "{[\"") {
		return []byte(redact(string(line), m.key))
	}
	for _, form := range m.spoken {
		line = bytes.ReplaceAll(line, []byte(form), []byte(markFor(form)))
	}
	line, _ = m.escaped.Redact(line)
	return line
}

// markFor is what stands in the place of a form of the key. Numbers of a JSON document are replaced by one.
func markFor(form string) string {
	if strings.Trim(form, "0123456789, ") == "" {
		return "0"
	}
	return secret.Mark("value")
}

// redactFrames is redact for frames, whose checksums are made anew.
func (m *mask) redactFrames(b []byte) []byte {
	var out []byte
	for frames := eventstream.NewReader(bytes.NewReader(b)); ; {
		f, err := frames.Next()
		if err != nil { // what is no frame is not passed on
			return out
		}
		f.Name, f.Message, f.Payload = redact(f.Name, m.key), redact(f.Message, m.key), m.redactLine(f.Payload)
		if out, err = eventstream.Append(out, f); err != nil {
			return out
		}
	}
}

// masks are those of the keys that a client uses. They are not made anew for each answer.
type masks struct {
	mu sync.Mutex
	by map[string]*mask
}

// maxMasks bounds the keys that are remembered: those that were replaced are forgotten in time.
const maxMasks = 256

// of returns the mask of a key, nil if there is nothing to hide.
func (s *masks) of(key string) *mask {
	if len(key) < secret.Least {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.by[key]
	if m == nil {
		if m = newMask(key); s.by == nil || len(s.by) >= maxMasks {
			s.by = make(map[string]*mask)
		}
		s.by[key] = m
	}
	return m
}
