package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/toolpost/toolpost/internal/secret"
)

// awsKey is an access key of Amazon's. It is never sent: requests are signed
// with it. Everywhere a key is one text, it is ID:SECRET or ID:SECRET:SESSION.
type awsKey struct{ id, secret, session string }

// parseAWSKey reads such a text. A key without a colon is a bearer token.
func parseAWSKey(key string) (awsKey, bool) {
	id, rest, ok := strings.Cut(key, ":")
	secret, session, _ := strings.Cut(rest, ":")
	return awsKey{id, secret, session}, ok && id != "" && secret != ""
}

// leastPart is the length from which a part of a key counts as a secret. Those of Amazon's are three times as long; what is shorter is
// rather a word behind a colon.
const leastPart = 12

// keyParts are a key and the parts of it that are secrets by themselves; others are empty.
func keyParts(key string) [3]string {
	parts := [3]string{key}
	pair, _ := parseAWSKey(key)
	for i, part := range [...]string{pair.secret, pair.session} {
		if len(part) >= leastPart {
			parts[i+1] = part
		}
	}
	return parts
}

// KeySecrets returns what must not be told of a key: all of it and, of an access key of Amazon's (ID:SECRET or ID:SECRET:SESSION), the secret
// and the session token alone.
func KeySecrets(key string) []string {
	parts := keyParts(key)
	return slices.DeleteFunc(parts[:], func(s string) bool { return s == "" })
}

func (k awsKey) text() string {
	if k.session == "" {
		return k.id + ":" + k.secret
	}
	return k.id + ":" + k.secret + ":" + k.session
}

// The variables of a token, and of an access key.
const (
	awsBearer  = "AWS_BEARER_TOKEN_BEDROCK"
	awsID      = "AWS_ACCESS_KEY_ID"
	awsSecret  = "AWS_SECRET_ACCESS_KEY"
	awsSession = "AWS_SESSION_TOKEN"
)

// awsEnvironment returns the access key that the environment holds.
func awsEnvironment(bearer string) (string, error) {
	k := awsKey{os.Getenv(awsID), os.Getenv(awsSecret), os.Getenv(awsSession)}
	if k.id == "" || k.secret == "" {
		return "", fmt.Errorf("set %s, or %s and %s", bearer, awsID, awsSecret)
	}
	if strings.Contains(k.id+k.secret, ":") {
		return "", fmt.Errorf("%s or %s holds a colon, which no such key has", awsID, awsSecret)
	}
	return k.text(), nil
}

// awsSigner remembers the keys it derived; it is safe for concurrent use.
var awsSigner = v4.NewSigner()

// sign puts the signature of a whole request into its headers. All headers must
// be set already: the signature covers them.
func (k awsKey) sign(req *http.Request, payload []byte, service string, at time.Time) error {
	sum := sha256.Sum256(payload)
	key := aws.Credentials{AccessKeyID: k.id, SecretAccessKey: k.secret, SessionToken: k.session}
	return awsSigner.SignHTTP(req.Context(), key, req, hex.EncodeToString(sum[:]), service, awsRegion(req.URL.Hostname()), at)
}

// awsRegion is the region a host belongs to. Amazon's own hosts have it in their
// name, after the service; any other is in the region of the environment.
func awsRegion(host string) string {
	labels := strings.Split(host, ".")
	for i, label := range labels[:max(0, len(labels)-3)] {
		if strings.HasPrefix(label, "bedrock") && strings.Contains(host, ".amazonaws.com") {
			return labels[i+1]
		}
	}
	return cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
}

// signatureMark stands before a signature in the header that carries it.
const signatureMark = "Signature="

// redactSignatures takes signatures out of a text: whoever reads one could send
// the same request again for some minutes.
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
