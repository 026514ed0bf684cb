package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Hash is "sha256:" and 64 lowercase hexadecimal digits, or empty for none.
type Hash string

const hashPrefix = "sha256:"

// Valid reports whether h has the form of a hash.
func (h Hash) Valid() bool {
	return isHash([]byte(h))
}

// isHash is Valid for bytes.
func isHash(b []byte) bool {
	if len(b) != len(hashPrefix)+2*sha256.Size || string(b[:len(hashPrefix)]) != hashPrefix {
		return false
	}
	var bad byte
	for d := b[len(hashPrefix):]; len(d) >= 8; d = d[8:] { // 8 at a time: there are two in every receipt
		bad |= noHexDigit[d[0]] | noHexDigit[d[1]] | noHexDigit[d[2]] | noHexDigit[d[3]] |
			noHexDigit[d[4]] | noHexDigit[d[5]] | noHexDigit[d[6]] | noHexDigit[d[7]]
	}
	return bad == 0
}

// noHexDigit is 1 for every byte but the lowercase hexadecimal digits.
var noHexDigit = func() (set [256]byte) {
	for b := range set {
		if strings.IndexByte(hexDigits, byte(b)) < 0 {
			set[b] = 1
		}
	}
	return set
}()

const hexDigits = "0123456789abcdef"

// hexPairs are the two digits of every byte.
var hexPairs = func() (pairs [256][2]byte) {
	for b := range pairs {
		pairs[b] = [2]byte{hexDigits[b>>4], hexDigits[b&15]}
	}
	return pairs
}()

// Short returns the first twelve digits, for people.
func (h Hash) Short() string {
	digits := strings.TrimPrefix(string(h), hashPrefix)
	return digits[:min(12, len(digits))]
}

// hashDigits are the bytes of a hash.
type hashDigits [len(hashPrefix) + 2*sha256.Size]byte

func sumBytes(b []byte) (out hashDigits) {
	sum := sha256.Sum256(b)
	copy(out[:], hashPrefix)
	digits := (*[2 * sha256.Size]byte)(out[len(hashPrefix):])
	for i, b := range sum { // twice as fast as [hex.Encode]
		pair := hexPairs[b]
		digits[2*i], digits[2*i+1] = pair[0], pair[1]
	}
	return out
}

func hashBytes(b []byte) Hash {
	text := sumBytes(b)
	return Hash(text[:])
}

// speaksFor reports whether h is the hash of b.
func (h Hash) speaksFor(b []byte) bool {
	text := sumBytes(b)
	return string(h) == string(text[:])
}

// HashJSON returns the hash of the canonical form of raw.
func HashJSON(raw []byte) (Hash, error) {
	space := bodies.Get().(*[]byte)
	b, err := appendCanonical((*space)[:0], raw)
	if err != nil {
		return "", err
	}
	defer giveBack(space, b)
	return hashBytes(b), nil
}

// HashValue returns the hash of the canonical form of v's JSON.
func HashValue(v any) (Hash, error) {
	b, err := encode(v)
	if err != nil {
		return "", err
	}
	return hashBytes(b), nil
}

// encode returns the canonical form of v's JSON.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return Canonical(b)
}

// encodeLoose is encode for what models and vendors wrote.
func encodeLoose(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if c, err := Canonical(b); err == nil {
		return c, nil
	}
	return loosen(b)
}

// ParamsHash returns the params_hash of a call's arguments: the hash of their
// canonical form. No arguments are hashed as {}. Arguments without a canonical form
// never run, but they are recorded and therefore have a hash too: that of the text as
// a JSON string.
func ParamsHash(args json.RawMessage) Hash {
	if hash, err := HashJSON(args); err == nil {
		return hash
	}
	return hashBytes(params(args))
}

// params returns the canonical form of arguments, or the text as a JSON string
// where there is none.
func params(args json.RawMessage) []byte { return appendParams(nil, args) }

func appendParams(dst []byte, args json.RawMessage) []byte {
	if len(bytes.TrimSpace(args)) == 0 {
		return append(dst, "{}"...)
	}
	b, err := appendCanonical(dst, args)
	if err != nil {
		return append(dst, quoteText(args)...)
	}
	return b
}

func quoteText(text []byte) []byte {
	return js.AppendShortest(nil, bytes.ToValidUTF8(text, []byte("\uFFFD")))
}

// hashText is the hash of a text as a JSON string.
func hashText(text []byte) Hash { return hashBytes(quoteText(text)) }

// OutputHash returns the output_hash of a tool's whole output: the hash of
// {"content":…,"error":…,"success":…}. The content of text is a string (text parts are
// joined by newlines), of anything else the list of parts. Without failure the error
// is null. Text that is not UTF-8 is hashed as {"base64":"…"}: two different outputs
// never share a hash.
func OutputHash(parts []llm.Part, failure string) (Hash, error) {
	var space [256]byte // enough for a short text, which nearly all are
	b, err := appendContent(append(space[:0], `{"content":`...), parts)
	if err != nil {
		return "", err
	}
	b = append(b, `,"error":`...)
	if failure == "" {
		b = append(b, `null,"success":true}`...)
	} else {
		b = append(appendText(b, failure), `,"success":false}`...)
	}
	return hashBytes(b), nil
}

func appendContent(dst []byte, parts []llm.Part) ([]byte, error) {
	var texts []string
	for _, p := range parts {
		t, ok := p.(llm.Text)
		if !ok {
			content, err := outputParts(parts)
			return append(dst, content...), err
		}
		if len(parts) == 1 {
			return appendText(dst, t.Text), nil
		}
		texts = append(texts, t.Text)
	}
	return appendText(dst, strings.Join(texts, "\n")), nil
}

// outputParts returns the parts as their JSON in a message.
func outputParts(parts []llm.Part) ([]byte, error) {
	b, err := json.Marshal(llm.Message{Parts: parts})
	if err != nil {
		return nil, fmt.Errorf("journal: output: %w", err)
	}
	var m struct {
		Parts json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("journal: output: %w", err)
	}
	return encodeLoose(m.Parts)
}

func appendText(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		return js.AppendShortest(dst, s)
	}
	dst = append(dst, `{"base64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, []byte(s)), `"}`...)
}

// bodies are spaces for bodies that are borrowed.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// giveBack keeps the space of an unused body.
func giveBack(space *[]byte, body []byte) {
	const worthKeeping = 64 << 10
	if cap(body) <= worthKeeping {
		*space = body[:0]
		bodies.Put(space)
	}
}
