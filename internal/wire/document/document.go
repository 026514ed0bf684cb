// Package document reads answers that are one document.
package document

import (
	"fmt"
	"io"

	"github.com/toolpost/toolpost/llm"
)

// MaxBytes limits a document. Nothing of such an answer can be used before its end.
const MaxBytes = 64 << 20

// ErrTooLong is the cause of the error of a document of more than MaxBytes.
var ErrTooLong = fmt.Errorf("a document of more than %d bytes", MaxBytes)

// Read reads a document. A longer one is an error of kind [llm.ByteLimit].
func Read(src io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(src, MaxBytes+1))
	if err == nil && len(body) > MaxBytes {
		return nil, &llm.Error{Op: "wire.ReadDocument", Kind: llm.ByteLimit, Err: ErrTooLong}
	}
	return body, err
}
