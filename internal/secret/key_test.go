package secret_test

import (
	"slices"
	"testing"

	"github.com/toolpost/toolpost/internal/secret"
)

func TestSecretsOfAKey(t *testing.T) {
	for key, want := range map[string][]string{
		"":                                  nil,
		"sk-plain":                          {"sk-plain"},
		"AKIA:secretsecretsecret":           {"AKIA:secretsecretsecret", "secretsecretsecret"},
		"AKIA:secretsecretsecret:sessionid": {"AKIA:secretsecretsecret:sessionid", "secretsecretsecret"},
		"AKIA:secretsecretsecret:a-session-token": {"AKIA:secretsecretsecret:a-session-token", "secretsecretsecret", "a-session-token"},
		"user:word": {"user:word"},
	} {
		if got := secret.OfKey(key); !slices.Equal(got, want) {
			t.Errorf("%s: %q", key, got)
		}
	}
}
