package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
)

// TestAttemptsOfARequestAreShown checks that the command and the administration API show the upstreams that failed before the
// answer of a request, with the reason.
func TestAttemptsOfARequestAreShown(t *testing.T) {
	clitest.Bare(t, nil)
	key := makeKey(t, "--team", "red")
	t.Setenv(serve.AdminKeyEnv, "a-key-that-is-long-enough-for-it")
	up := httptest.NewServer(new(settingUpstream))
	t.Cleanup(up.Close)
	url, _, log := servedAt(t, fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  addr: 127.0.0.1:0\n  admin_addr: 127.0.0.1:0\n  keys: %s\n  routes: [{model: any, to: [{model: up/down}, {model: up/one, priority: 2}]}]\n", up.URL, keysFile))
	if status, answer := askWith(t, url, key); status != http.StatusOK {
		t.Fatal(answer)
	}
	var table string
	for range 200 {
		if table = programtest.Run(t, "", "usage", "--by", "request", "--keys", keysFile).Out; strings.Contains(table, "up/down") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !strings.Contains(table, "ATTEMPTS") || !strings.Contains(table, "up/down server 500") {
		t.Error(table)
	}
	log.mu.Lock()
	address := regexp.MustCompile(`administrators on (\S+)`).FindStringSubmatch(log.text.String())
	log.mu.Unlock()
	if address == nil {
		t.Fatal("the log does not name the administrators' address")
	}
	get, err := http.NewRequestWithContext(t.Context(), "GET", address[1]+"/admin/requests?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	get.Header.Set("Authorization", "Bearer a-key-that-is-long-enough-for-it")
	resp, err := http.DefaultClient.Do(get)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), `"attempts":[{"upstream":"up/down","kind":"server","status":500`) {
		t.Errorf("%s: %s", resp.Status, body)
	}
}
