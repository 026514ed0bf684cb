package openapi_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/tool/openapi"
)

// TestAnchors: in a document and in its configuration an anchor inside its own value is an error with its line, and not
// a null. A direct key wins over a merged key, wherever the merge is.
func TestAnchors(t *testing.T) {
	const head = "openapi: 3.1.0\ninfo: {title: t, version: '1'}\n"
	for _, text := range []string{"paths: &p {/a: *p}\n", "paths: {/a: {get: &g {<<: *g}}}\n"} {
		if _, err := openapi.Parse([]byte(head + text)); err == nil || !strings.Contains(err.Error(), "line 3: *") || strings.Contains(err.Error(), "in JSON") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := openapi.ParseConfig([]byte("server: https://a.example.org\nheaders: &h {X: *h}\n")); err == nil || !strings.Contains(err.Error(), "line 2: *h") {
		t.Errorf("a configuration: %v", err)
	}
	doc, err := openapi.Parse([]byte("x-base: &base {title: base, version: '1'}\nopenapi: 3.1.0\ninfo: {title: own, <<: *base}\npaths: {/a: {get: {operationId: a, responses: {}}}}\n"))
	if err != nil || doc.Title != "own" || doc.Version != "1" {
		t.Errorf("a merge: %+v, %v", doc, err)
	}
}
