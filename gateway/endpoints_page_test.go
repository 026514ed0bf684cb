package gateway_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/internal/admin"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/wire"
)

var operations = map[serverapi.Operation]string{
	serverapi.Generate: "answer", serverapi.CountTokens: "count tokens", serverapi.ListModels: "list models", serverapi.GetModel: "describe a model",
	serverapi.ShowModel: "describe a model", serverapi.GetVersion: "version", serverapi.GetAnswer: "return a kept answer, or its `input_items`",
	serverapi.DeleteAnswer: "delete a kept answer", serverapi.CancelAnswer: "refused",
}

// administration describes the endpoints of administrators.
var administration = map[string]string{
	"GET /admin/keys":              "lists keys, without secrets",
	"POST /admin/keys":             "creates a key: `{\"team\", \"name\", \"models\", \"tools\", \"routes\", \"limits\", \"expires\"}`; returns `secret`",
	"PATCH /admin/keys/{id}":       "replaces the given fields; `\"limits\": []` and `\"expires\": \"never\"` remove",
	"POST /admin/keys/{id}/rotate": "`{\"grace\": \"1d\"}`; returns the new `secret`",
	"POST /admin/keys/{id}/revoke": "ends the key",
	"GET /admin/teams":             "lists teams",
	"PUT /admin/teams/{name}":      "sets `{\"limits\": [\"money/month=500\"]}`",
	"DELETE /admin/teams/{name}":   "erase all data of a team: keys, limits, log, bodies, sums, state; with `user`, the log and bodies of one end user",
	"GET /admin/audit":             "changes of keys and teams, newest first: `limit`",
	"GET /admin/usage":             "usage as JSON or CSV, with the filters of `toolpost usage`: `?by=team,day&since=2026-11-01&format=csv`",
	"GET /admin/requests":          "the latest requests: `?limit=100&format=csv`; `limit` 0 to 10,000; `status=failed`, `id=ID`; `before=ID` continues a list",
	"GET /admin/requests/{id}":     "bodies of a request, with `log_bodies`",
	"GET /admin/approvals":         "[waiting calls](../gateway.md#calls-that-wait-for-a-person), oldest first, up to 1,000",
	"POST /admin/approvals/{id}":   "`{\"decision\": \"approve\", \"by\": \"ada\", \"reason\": \"as agreed\"}`, or `deny`",
}

// probes are the endpoints of health and metrics.
var probes = map[string]string{
	"/healthz": "200 while the program runs",
	"/readyz":  "200 if it should get requests, otherwise 503",
	"/metrics": "[metrics](metrics.md) for Prometheus",
}

// TestEndpointsReference: the page of endpoints is generated from the tables of the formats and the administrators' API.
func TestEndpointsReference(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Endpoints of the gateway\n\nLook up the paths that the gateway serves. `*` is a name or an id, and a path with `/` at the end continues with one. This page is generated.\n\n" +
		"## Models\n\n| format | request | effect |\n|---|---|---|\n")
	var forwarded []string
	for _, name := range wire.Formats() {
		server := wire.Codec{Format: name}.Server()
		for _, r := range server.Routes {
			effect := operations[r.Action]
			if effect == "" {
				t.Errorf("%s %s: the operation %v has no explanation", r.Method, r.Path, r.Action)
			}
			shown := name
			if r.Shared {
				shown = "by the headers"
			}
			fmt.Fprintf(&page, "| %s | `%s %s` | %s |\n", shown, r.Method, r.Path, effect)
		}
		for _, f := range server.Forwarded {
			forwarded = append(forwarded, fmt.Sprintf("| `%s` | %s | `%s %s` |\n", f.Kind, name, strings.ReplaceAll(f.Methods, " ", ", "), f.Path))
		}
	}
	page.WriteString("\n## Passed on\n\nThe kinds that a route may [pass on](operations.md#other-endpoints).\n\n| kind | format | request |\n|---|---|---|\n" + strings.Join(forwarded, ""))
	page.WriteString("\n## Operation\n\n| request | response |\n|---|---|\n")
	serve, err := os.ReadFile("../cmd/toolpost/internal/serve/operate.go")
	if err != nil {
		t.Fatal(err)
	}
	served := regexp.MustCompile(`mux\.Handle\("([^"]+)"`).FindAllStringSubmatch(string(serve), -1)
	for _, found := range served {
		if probes[found[1]] == "" {
			t.Errorf("%s has no explanation", found[1])
		}
		fmt.Fprintf(&page, "| `GET %s` | %s |\n", found[1], probes[found[1]])
	}
	if len(served) != len(probes) {
		t.Errorf("%d endpoints of operation are explained, and there are %d", len(probes), len(served))
	}
	page.WriteString("\n## Administrators\n\n[Access and rules](keys.md#administrators).\n\n| request | effect |\n|---|---|\n")
	patterns := admin.Patterns()
	for _, pattern := range patterns {
		if administration[pattern] == "" {
			t.Errorf("%s has no explanation", pattern)
		}
		fmt.Fprintf(&page, "| `%s` | %s |\n", pattern, administration[pattern])
	}
	if len(patterns) != len(administration) {
		t.Errorf("%d endpoints are explained, and there are %d", len(administration), len(patterns))
	}
	testkit.Page(t, "../docs/gateway/endpoints.md", page.String())
}
