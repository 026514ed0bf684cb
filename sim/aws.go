package sim

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/llm"
)

// awsSignature is the form of Amazon's signatures: the key id, date, region and
// service, the signed headers, and the signature. The host is among the
// headers, under its name in that version of HTTP.
var awsSignature = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[^/, ]+/\d{8}/[a-z0-9-]+/[a-z0-9-]+/aws4_request, ?` +
	`SignedHeaders=(?:[a-z0-9-]+;)*(?:host|:authority)(?:;[a-z0-9-]+)*, ?Signature=[0-9a-f]{64}$`)

// awsDate is the header that a signature covers in addition to the host.
const awsDate = "X-Amz-Date"

// checkSignature refuses a request whose signature does not have the form that
// Amazon demands. It does not verify the signature itself, because it lacks the
// key.
func checkSignature(r *http.Request) error {
	auth := r.Header.Get("Authorization")
	switch {
	case len(auth) < 4 || auth[:4] != "AWS4":
		return nil // a bearer token, or no credentials
	case !awsSignature.MatchString(auth) || r.Header.Get(awsDate) == "":
		return &llm.Error{
			Op: "sim", Kind: llm.Auth, Status: http.StatusForbidden, Code: "IncompleteSignatureException",
			Err: errors.New("the Authorization header is no signature of a request with its date"),
		}
	}
	return nil
}

// inFrames applies a fault to the payloads of frames and keeps the rest of them
// valid.
func inFrames(p []byte, fault func([]byte) []byte) []byte {
	var out []byte
	for frames := eventstream.NewReader(bytes.NewReader(p)); ; {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			return p
		}
		f.Payload = fault(f.Payload)
		if out, err = eventstream.Append(out, f); err != nil {
			return p
		}
	}
}
