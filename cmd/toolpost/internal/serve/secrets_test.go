package serve

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// TestSecretsOfAccessKeys: the record and the log redact the secret of an access key that shares a variable with its
// id, even if the secret appears alone.
func TestSecretsOfAccessKeys(t *testing.T) {
	const secret, session = "wJalrXUtnFEMI-K7MDENG", "FwoGZXIvYXdzEBYaDExample"
	t.Setenv("AWS_EU_KEY", "AKIAEXAMPLE:"+secret+":"+session)
	s := &settings.Settings{ModelOptions: settings.ModelOptions{Providers: map[string]settings.ProviderConfig{"bedrock-eu": {Like: "bedrock", KeyEnv: "AWS_EU_KEY"}}}}
	for _, text := range []string{"it said " + secret, "token " + session, "AKIAEXAMPLE:" + secret + ":" + session} {
		if got, n := gatewaySecrets(s.Secrets()).RedactValues(text); n != 1 || strings.Contains(got, secret) || strings.Contains(got, session) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
