package credential

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
)

// RedactError returns err without the key.
func RedactError(err *llm.Error, key string) *llm.Error {
	if len(key) < 4 {
		return err
	}
	clean := *err
	clean.Op, clean.Code = Redact(err.Op, key), Redact(err.Code, key)
	if err.Err != nil {
		if text := err.Err.Error(); Redact(text, key) != text {
			clean.Err = errors.New(Redact(text, key))
		}
	}
	return &clean
}

// secretsOf returns the values that must not be shown of a key: all of it, and each
// part of a key that signs requests.
func secretsOf(key string) (secrets []string, signs bool) {
	secrets = []string{key}
	pair, signs := ParseAWSKey(key)
	if signs {
		secrets = append(secrets, pair.secret, pair.session, pair.id)
	}
	return secrets, signs
}

// Redact removes a key from a text, in all its spellings.
func Redact(text, key string) string {
	secrets, signs := secretsOf(key)
	if signs {
		text = redactSignatures(text)
	}
	return secret.Redact(text, secrets...)
}

// RedactTruncated is Redact for a truncated text: it also removes the beginning of a
// key from its end.
func RedactTruncated(text, key string) string {
	secrets, _ := secretsOf(key)
	return string(secret.NewSet(secrets...).Uncut([]byte(Redact(text, key))))
}

// RedactJSON removes secrets from the strings of a JSON document, and returns how
// many it removed. A number that equals a secret stays, because a mark in its place
// would make the document invalid.
func RedactJSON(body []byte, set *secret.Set) ([]byte, int) {
	if !json.Valid(body) { // a format that the program defines
		return set.Redact(body)
	}
	var out []byte
	found := 0
	for len(body) > 0 {
		start := bytes.IndexByte(body, '"')
		if start < 0 {
			break
		}
		end := start + 1
		for body[end] != '"' {
			if body[end] == '\\' {
				end++
			}
			end++
		}
		clean, n := set.Redact(body[start+1 : end])
		found += n
		out = append(append(append(out, body[:start+1]...), clean...), '"')
		body = body[end+1:]
	}
	return append(out, body...), found
}
