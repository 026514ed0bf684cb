package upgrade

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOlder(t *testing.T) {
	order := []string{"v0.8.12", "v0.9.0-beta.2", "v0.9.0-rc.1", "v0.9.0-rc.10", "v0.9.0", "v0.10.0", "v1.0.0"}
	for i, a := range order {
		for k, b := range order {
			if got := older(a, b); got != (i < k) {
				t.Errorf("older(%s, %s) = %t", a, b, got)
			}
		}
	}
}

// TestUpgradeCheck: one HEAD request without a body or details of the machine; the version is that of the redirection.
func TestUpgradeCheck(t *testing.T) {
	requests, location := 0, "/releases/tag/v0.10.0"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.Method != http.MethodHead || r.UserAgent() != "toolpost" || r.URL.RawQuery != "" {
			t.Errorf("%s %s by %s", r.Method, r.URL, r.UserAgent())
		}
		if location != "" {
			http.Redirect(w, r, location, http.StatusFound)
		}
	}))
	defer server.Close()
	for current, want := range map[string]string{
		"v0.9.0":                             "v0.10.0 is available; this is v0.9.0\n" + server.URL + "/releases/tag/v0.10.0",
		"v0.10.0":                            "v0.10.0 is the latest release",
		"v0.11.0":                            "v0.10.0 is the latest release",
		"(devel)":                            "this is (devel), which is not a release; the latest release is v0.10.0",
		"v0.0.0-20261119050000-0123456789ab": "this is v0.0.0-20261119050000-0123456789ab, which is not a release; the latest release is v0.10.0",
	} {
		r, err := find(t.Context(), server.URL+"/releases/latest", current)
		if err != nil || r.String() != want {
			t.Errorf("%s: %q, %v", current, r, err)
		}
	}
	if requests != 5 {
		t.Errorf("%d requests", requests)
	}
	for _, location = range []string{"", "/releases", "/releases/tag/v1;rm", "http://%zz"} {
		if r, err := find(t.Context(), server.URL, "v0.9.0"); err == nil {
			t.Errorf("%q: %v", location, r)
		}
	}
}
