package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestCheckWildcardAddresses: an invalid address is refused for any model name. --check and serve use the same
// words, which name the provider and the setting and contain no password.
func TestCheckWildcardAddresses(t *testing.T) {
	t.Setenv("UP_HOST", "127.0.0.1:1")
	config := func(base, model, to string) string {
		return fmt.Sprintf("providers:\n  up: {base_url: %q, wire: chat}\ngateway:\n  routes: [{model: %q, to: [{model: %q}]}]\n", base, model, to)
	}
	for base, says := range map[string]string{
		"http://user:s3cret@127.0.0.1:1/v1": "the address holds a user or password",
		"http://127.0.0.1:1/v1?key=s3cret":  "the address ends with a query or a fragment",
		"http://127.0.0.1:1/v1?":            "the address ends with a query or a fragment",
		"http://127.0.0.1:1/v1#s3cret":      "the address ends with a query or a fragment",
		"ftp://127.0.0.1:1/v1":              "an address begins with http:// or https://, not ftp://",
		"127.0.0.1:1/v1":                    "an address begins with http:// or https://",
		"//127.0.0.1:1/v1":                  "an address begins with http:// or https://",
		"http:///v1":                        "the address has no host",
		" http://127.0.0.1:1/v1 ":           "the address cannot be read",
		"http://127.0.0.1:1/v1\n":           "the address cannot be read",
		"http://127.0.0.1:99999/v1":         `"99999" is not a port`,
	} {
		for _, route := range [][2]string{{"a-*", "up/*"}, {"a", "up/m"}} {
			t.Run(base+" "+route[1], func(t *testing.T) {
				clitest.Bare(t, map[string]string{"gateway.yaml": config(base, route[0], route[1])})
				checked := toolpost(t, "", "serve", "--config", "gateway.yaml", "--check")
				served := within(t, 10*time.Second, "serve", "--config", "gateway.yaml")
				if checked.code == 0 || checked.code != served.code || refusalOf(checked) != refusalOf(served) {
					t.Errorf("--check says %d %s\nand serve says %d %s", checked.code, checked.errOut, served.code, served.errOut)
				}
				for _, want := range []string{":4: gateway.routes[0].to[0].model: ", says, "see base_url of up in providers"} {
					if !strings.Contains(checked.errOut, want) || strings.Contains(checked.errOut, "s3cret") {
						t.Errorf("it does not say %q but\n%s", want, checked.errOut)
					}
				}
			})
		}
	}
	clitest.Bare(t, map[string]string{"gateway.yaml": config("${NO_SUCH_BASE}/v1", "a-*", "up/*")}) // the variable may be set where the gateway runs
	const unset = "up: its address needs NO_SUCH_BASE to be set; see base_url of up in providers"
	if r := toolpost(t, "", "serve", "--config", "gateway.yaml", "--check"); r.code != 0 || !strings.Contains(r.errOut, ":4: warning: ") || !strings.Contains(r.errOut, unset) {
		t.Errorf("--check says %d %s", r.code, r.errOut)
	}
	if r := within(t, 10*time.Second, "serve", "--config", "gateway.yaml"); r.code == 0 || !strings.Contains(r.errOut, unset) {
		t.Errorf("serve says %d %s", r.code, r.errOut)
	}
	for _, good := range []string{config("http://127.0.0.1:1/v1/", "*", "up/*"), config("http://${UP_HOST}/v1", "*", "*"), config("${NO_SUCH_BASE}/v1", "*", "sim/*")} {
		clitest.Bare(t, map[string]string{"gateway.yaml": good})
		if r := toolpost(t, "", "serve", "--config", "gateway.yaml", "--check"); r.code != 0 {
			t.Errorf("%s\nis refused: %s", good, r.errOut)
		}
	}
}
