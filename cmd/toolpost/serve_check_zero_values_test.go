package main

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// zeroIsNone are the settings whose default means none, like 0. zeroMeans are the settings with a special message
// about 0.
var (
	zeroIsNone = []string{"routes.max_requests", "routes.cache", "routes.retries", "routes.to.health", "routes.to.retries", "routes.to.priority", "routes.to.max_in_flight"}
	zeroMeans  = map[string]string{"routes.to.weight": "a weight of 0 takes sim/offline out of the selection", "routes.rounds": "0 is too small; the minimum is 1"}
)

// TestCheckExplainsZeros: a setting of 0 means none, or --check explains its meaning.
func TestCheckExplainsZeros(t *testing.T) {
	zeros := map[string]string{}
	for _, f := range configcheck.All(reflect.TypeFor[settings.GatewayConfig]()) {
		switch configcheck.KindOf(f.Type) {
		case "duration":
			zeros[f.Path] = f.Key + ": 0s"
		case "number":
			zeros[f.Path] = f.Key + ": 0"
		}
	}
	if len(zeros) < 18 {
		t.Fatalf("there are more numbers than %v", zeros)
	}
	for place, setting := range zeros {
		config, path := "gateway:\n  keys: sqlite:k.db\n  "+setting+"\n"+goodRoute, "gateway."+place
		switch {
		case strings.HasPrefix(place, "routes.to."):
			config = "gateway:\n  routes: [{model: a, to: [{model: sim/native}, {model: sim/offline, " + setting + "}]}]\n"
			path = strings.Replace(path, "routes.to.", "routes[0].to[1].", 1)
		case strings.HasPrefix(place, "routes."):
			config = "gateway:\n  routes: [{model: a, to: [{model: sim/offline}], tools: [write_file], approval: pending, " + setting + "}]\n"
			path = strings.Replace(path, "routes.", "routes[0].", 1)
		}
		clitest.Bare(t, map[string]string{"gateway.yaml": config})
		said := toolpost(t, "", "serve", "--check", "--config", "gateway.yaml").errOut
		want := cmp.Or(zeroMeans[place], "warning: "+path+": 0 means the default, which is ")
		if none := slices.Contains(zeroIsNone, place); strings.Contains(said, want) == none || strings.Contains(said, "not a duration") {
			t.Errorf("%s: of %q --check says %q", place, setting, said)
		}
	}
	clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n  drain: 0s\n  keep_alive: 0s\n  max_body:\n" + goodRoute})
	r := toolpost(t, "", "serve", "--check", "--config", "gateway.yaml")
	if r.code != 0 || !strings.Contains(r.errOut, ":2: warning: gateway.drain: 0 means the default, which is 30s") || !strings.Contains(r.errOut, "keep_alive: 0 means the default, which is 15s") || strings.Contains(r.errOut, "max_body") {
		t.Errorf("%d %s", r.code, r.errOut)
	}
}
