package credential

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
)

// awsVector is what botocore, Amazon's own library, makes of the same request at
// the same time.
var awsVector = []struct{ session, want string }{
	{"", "SignedHeaders=accept;content-length;content-type;host;x-amz-date, Signature=3c6a77edddf0cc9ad58c8d34c095edf1e29a6d91fc1d66e9d5b1f7d90488f4b6"},
	{"FwoGZXIvYXdzEXAMPLE==", "SignedHeaders=accept;content-length;content-type;host;x-amz-date;x-amz-security-token, Signature=03f78df64e914f724846eaa9d0f5d1bc897f3bafb307abe4faf146808eef7611"},
}

// TestSignatures: our signatures are those of Amazon's own library, for an id
// with colons and slashes and a body that is not ASCII.
func TestSignatures(t *testing.T) {
	const (
		secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
		place  = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Ainference-profile%2Feu.anthropic.claude-x-v1%3A0/converse-stream"
	)
	body := []byte(`{"messages":[{"role":"user","content":[{"text":"Grüße"}]}]}`)
	for _, v := range awsVector {
		key, ok := ParseAWSKey(AWSKey{"AKIDEXAMPLE", secret, v.session}.text())
		if !ok || key.secret != secret || key.session != v.session {
			t.Fatalf("the key was not read: %v %+v", ok, key)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, place, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/vnd.amazon.eventstream")
		req.Header.Set("User-Agent", "toolpost") // proxies change it, so it is not signed
		if err := key.Sign(req, body, "bedrock", time.Date(2026, 11, 16, 3, 4, 5, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261116/eu-west-1/bedrock/aws4_request, " + v.want
		if got := req.Header.Get("Authorization"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := req.Header.Get("X-Amz-Security-Token"); got != v.session {
			t.Errorf("session %q", got)
		}
	}
}

func TestAWSRegion(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-north-1")
	for host, want := range map[string]string{
		"bedrock-runtime.us-west-2.amazonaws.com":               "us-west-2",
		"bedrock-runtime-fips.us-gov-west-1.amazonaws.com":      "us-gov-west-1",
		"bedrock-runtime.cn-north-1.amazonaws.com.cn":           "cn-north-1",
		"vpce-0a1.bedrock-runtime.eu-west-3.vpce.amazonaws.com": "eu-west-3",
		"127.0.0.1":                   "eu-north-1",
		"gateway.example.org":         "eu-north-1",
		"bedrock.x.y.example.org":     "eu-north-1",
		"amazonaws.com":               "eu-north-1",
		"bedrock-runtime.example.com": "eu-north-1",
	} {
		if got := awsRegion(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

// TestSigningKeysAreHidden: neither the parts of an access key nor a signature
// can be read in an error.
func TestSigningKeysAreHidden(t *testing.T) {
	key := AWSKey{"AKIDEXAMPLE", "se/cr+et0123", "to+ken/4567="}
	text := "proxy: cannot send Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/2026, Signature=0123abcdef, X-Amz-Security-Token to+ken/4567= " +
		"secret se%2Fcr%2Bet0123 whole AKIDEXAMPLE:se/cr+et0123:to+ken/4567="
	got := Redact(text, key.text())
	for _, s := range []string{"AKIDEXAMPLE", "cr+et0123", "cr%2Bet0123", "ken/4567", "0123abcdef"} {
		if strings.Contains(got, s) {
			t.Errorf("%q is readable: %s", s, got)
		}
	}
	if !strings.Contains(got, "proxy: cannot send") {
		t.Errorf("too much is gone: %s", got)
	}
}

// A server may repeat a key with the slashes that some encoders of JSON escape.
func TestRedactEscapedSlashes(t *testing.T) {
	const key = "ABSKabc/def/ghijklmnop+q=="
	if got := Redact(`bad key ABSKabc\/def\/ghijklmnop+q==`, key); got != "bad key [stripped:value]" {
		t.Errorf("the key is shown: %q", got)
	}
}
