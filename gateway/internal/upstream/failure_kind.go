package upstream

import (
	"crypto/tls"
	"errors"

	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// FailureKind names the kind of an error for logs and metrics: the reason of a refusal, "body_size" for a request body over
// the gateway's limit, "certificate" for an upstream whose certificate is not accepted, and otherwise the kind of package
// llm.
func FailureKind(err error) string {
	if refusal := (*access.Refusal)(nil); errors.As(err, &refusal) {
		return string(refusal.Ground)
	}
	if large := (*vendorapi.LargeBodyError)(nil); errors.As(err, &large) {
		return "body_size"
	}
	if certificate := (*tls.CertificateVerificationError)(nil); errors.As(err, &certificate) {
		return "certificate"
	}
	return llm.KindOf(err).String()
}
