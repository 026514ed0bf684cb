package main

import (
	"strings"
	"testing"
)

// TestSecretsOfAccessKeys checks that the record and the log strip the secret of an access key that stands in one variable with its id, also where it stands alone.
func TestSecretsOfAccessKeys(t *testing.T) {
	const secret, session = "wJalrXUtnFEMI-K7MDENG", "FwoGZXIvYXdzEBYaDExample"
	t.Setenv("AWS_EU_KEY", "AKIAEXAMPLE:"+secret+":"+session)
	s := &settings{Providers: map[string]providerConfig{"bedrock-eu": {Like: "bedrock", KeyEnv: "AWS_EU_KEY"}}}
	for _, text := range []string{"it said " + secret, "token " + session, "AKIAEXAMPLE:" + secret + ":" + session} {
		if got, n := s.gatewaySecrets().RedactValues(text); n != 1 || strings.Contains(got, secret) || strings.Contains(got, session) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
