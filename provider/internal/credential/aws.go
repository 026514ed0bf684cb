// Package credential holds the keys of vendors: it signs requests with keys of
// Amazon, and removes keys from errors and answers.
package credential

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/toolpost/toolpost/internal/secret"
)

// AWSKey is an access key of Amazon. It is never sent: requests are signed with it.
// As one text it is ID:SECRET or ID:SECRET:SESSION.
type AWSKey struct{ id, secret, session string }

// ParseAWSKey reads the text of an access key. A key without a colon is a bearer
// token.
func ParseAWSKey(key string) (AWSKey, bool) {
	id, rest, ok := strings.Cut(key, ":")
	secret, session, _ := strings.Cut(rest, ":")
	return AWSKey{id, secret, session}, ok && id != "" && secret != ""
}

func (k AWSKey) text() string {
	if k.session == "" {
		return k.id + ":" + k.secret
	}
	return k.id + ":" + k.secret + ":" + k.session
}

// The variables of a token, and of an access key.
const (
	AWSBearer  = "AWS_BEARER_TOKEN_BEDROCK"
	AWSID      = "AWS_ACCESS_KEY_ID"
	AWSSecret  = "AWS_SECRET_ACCESS_KEY"
	AWSSession = "AWS_SESSION_TOKEN"
)

// FromEnvironment returns the access key from the environment.
func FromEnvironment(bearer string) (string, error) {
	k := AWSKey{os.Getenv(AWSID), os.Getenv(AWSSecret), os.Getenv(AWSSession)}
	if k.id == "" || k.secret == "" {
		return "", fmt.Errorf("set %s, or %s and %s", bearer, AWSID, AWSSecret)
	}
	if strings.Contains(k.id+k.secret, ":") {
		return "", fmt.Errorf("%s or %s contains a colon, which is not allowed in an access key", AWSID, AWSSecret)
	}
	return k.text(), nil
}

// awsSigner remembers the keys it derived; it is safe for concurrent use.
var awsSigner = v4.NewSigner()

// Sign adds the signature of a request to its headers. All other headers must be
// set already, because the signature covers them.
func (k AWSKey) Sign(req *http.Request, payload []byte, service string, at time.Time) error {
	sum := sha256.Sum256(payload)
	key := aws.Credentials{AccessKeyID: k.id, SecretAccessKey: k.secret, SessionToken: k.session}
	return awsSigner.SignHTTP(req.Context(), key, req, hex.EncodeToString(sum[:]), service, awsRegion(req.URL.Hostname()), at)
}

// awsRegion returns the region of a host. Amazon's hosts have it in their name, after
// the service. Any other host is in the region of the environment.
func awsRegion(host string) string {
	labels := strings.Split(host, ".")
	for i, label := range labels[:max(0, len(labels)-3)] {
		if strings.HasPrefix(label, "bedrock") && strings.Contains(host, ".amazonaws.com") {
			return labels[i+1]
		}
	}
	return cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
}

// signatureMark precedes the signature in the header that carries it.
const signatureMark = "Signature="

// redactSignatures removes signatures from a text. With a signature, the same
// request could be sent again for some minutes.
func redactSignatures(text string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, signatureMark)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString(signatureMark + secret.Mark("value"))
		text = strings.TrimLeft(after, "0123456789abcdef")
	}
}
