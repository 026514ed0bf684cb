package journal

import (
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/internal/js"
)

// CanonicalError reports why a text cannot be written in canonical form.
type CanonicalError struct {
	Offset  int // in the text given
	Problem string
}

// Error returns the problem and where it is.
func (e *CanonicalError) Error() string {
	return fmt.Sprintf("journal: no canonical form: %s at byte %d", e.Problem, e.Offset)
}

// The forms in which the record writes values. Loose is for the text of models and vendors, which may be
// ambiguous: a record must not fail for it.
var canonicalForm, looseForm = js.Form{}, js.Form{Mode: js.Mended}

// Canonical returns the one spelling of a JSON value that is hashed: no white
// space, keys in the order of RFC 8785 (by UTF-16 units), strings and numbers
// as RFC 8785, except that a number written as an integer keeps all its digits.
//
// Ambiguous text is a *[CanonicalError]: two equal keys in an object, a lone surrogate, text that
// is not UTF-8, a number beyond float64 that is not an integer, more than 500
// levels. The canonical form of a canonical form is itself.
func Canonical(raw []byte) ([]byte, error) {
	return appendCanonical(make([]byte, 0, len(raw)), raw)
}

// appendCanonical appends the canonical form of raw to dst.
func appendCanonical(dst, raw []byte) ([]byte, error) {
	b, err := canonicalForm.Append(dst, raw)
	return b, canonicalError(err)
}

// loosen returns the canonical value that is nearest to raw.
func loosen(raw []byte) ([]byte, error) {
	b, err := looseForm.Append(nil, raw)
	return b, canonicalError(err)
}

// canonicalError returns an error of the reader as one of this package.
func canonicalError(err error) error {
	if syntax := (*js.SyntaxError)(nil); errors.As(err, &syntax) {
		return &CanonicalError{syntax.Offset, syntax.Problem}
	}
	return err
}
