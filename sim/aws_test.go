package sim_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/sim"
)

// TestSignaturesHaveAForm: a request that claims to be signed must look so; any
// other needs no key.
func TestSignaturesHaveAForm(t *testing.T) {
	const (
		credential = "AWS4-HMAC-SHA256 Credential=AKID/20261116/us-east-1/bedrock/aws4_request, "
		date       = "20261116T030405Z"
	)
	signature := "Signature=" + strings.Repeat("0f", 32)
	for _, c := range []struct {
		auth, date string
		want       int
	}{
		{"", "", 200},
		{"Bearer any", "", 200},
		{credential + "SignedHeaders=content-type;host;x-amz-date, " + signature, date, 200},
		{credential + "SignedHeaders=:authority;content-type;x-amz-date, " + signature, date, 200},
		{credential + "SignedHeaders=content-type;host;x-amz-date, " + signature, "", 403},
		{credential + "SignedHeaders=content-type;x-amz-date, " + signature, date, 403},
		{credential + "SignedHeaders=host, Signature=0f", date, 403},
		{"AWS4-HMAC-SHA256 Credential=AKID, SignedHeaders=host, " + signature, date, 403},
	} {
		req := httptest.NewRequest(http.MethodPost, "/model/sim%2Fnative/converse", strings.NewReader(`{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`))
		req.Header.Set("Authorization", c.auth)
		req.Header.Set("X-Amz-Date", c.date)
		w := httptest.NewRecorder()
		new(sim.Server).ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("%q: %d %s", c.auth, w.Code, w.Body)
		}
		if got := w.Header().Get("X-Amzn-Errortype"); w.Code == 403 && got != "IncompleteSignatureException" {
			t.Errorf("%q: the error is %q", c.auth, got)
		}
	}
}
