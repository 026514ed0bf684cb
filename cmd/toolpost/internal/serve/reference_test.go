package serve_test

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/testkit"
)

// referenceRows returns the rows of the settings table of a section.
func referenceRows(t *testing.T, section reflect.Type) string {
	var rows []string
	for _, f := range configcheck.All(section) {
		help := f.Tag.Get("help")
		if help == "" {
			t.Errorf("the setting %s has no help: give its field a tag help:\"…\", and default:\"…\" if it has one", f.Path)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", f.Path, configcheck.KindOf(f.Type), cmp.Or(f.Tag.Get("default"), f.Tag.Get("unset")), help+f.BoundsText()))
	}
	return strings.Join(rows, "\n")
}

// restartSettings lists the settings that a running gateway does not take over.
func restartSettings(section reflect.Type) string {
	var keys []string
	for _, f := range configcheck.Fields(section) {
		switch f.Tag.Get("restart") {
		case "yes":
			keys = append(keys, "`"+f.Key+"`")
		case "presence":
			keys = append(keys, "the presence of `"+f.Key+"`")
		}
	}
	return strings.Join(keys, ", ")
}

// TestGatewayReferenceIsDocumented: the page with all gateway settings is generated from the program.
func TestGatewayReferenceIsDocumented(t *testing.T) {
	page := `# Settings of the gateway

Look up a setting below ` + "`gateway:`" + ` of the configuration file. ` + "`toolpost serve --check`" + ` reports all mistakes of a file with their lines, such as unknown fields.
This page is generated from the program.

| setting | kind | default | meaning |
|---|---|---|---|
` + referenceRows(t, reflect.TypeFor[settings.GatewayConfig]()) + `

A file may have 1 MiB. A text must not be empty: leave out a setting that you do not need. A duration has a unit, like ` + "`90s`" + `, ` + "`10m`" + ` or ` + "`720h`" + `.

A number or a duration of 0 means the default, except for ` + "`routes.to.weight`" + `, ` + "`retries`" + ` and ` + "`routes.rounds`" + `; ` + "`--check`" + ` warns where the default is not 0.

A running gateway takes over changes of the file. These settings need a restart, which the log reports: ` + restartSettings(reflect.TypeFor[settings.GatewayConfig]()) + `.
The first built-in tools of any route, and MCP servers that no route had, are refused until a restart.

` + "`0.0.0.0`" + ` is every IPv4 address and no IPv6 address. ` + "`[::]`" + ` and an address without a host are both.

## Servers, accounts, regions and endpoints

` + "`providers:`" + ` at the top level of the file adds your own servers, and further accounts, regions and endpoints of [vendors](../providers.md). Routes use the name of a row
instead of a vendor's name:

` + "```yaml" + `
providers:
  bedrock-eu: {like: bedrock, region: eu-west-1}
  azure-east: {like: azure, endpoint: "https://east.openai.azure.com", key_env: AZURE_EAST_KEY}
  azure-west: {like: azure, endpoint: "https://west.openai.azure.com", key_env: AZURE_WEST_KEY}
  openai-2: {like: openai, key_env: OPENAI_KEY_2}
  gpu: {base_url: "http://gpu.example.org:8000/v1", key_env: GPU_KEY}
gateway:
  routes:
    - model: nova
      to: [{model: bedrock-eu/amazon.nova-lite-v1:0}]
    - model: gpt-4o                       # the deployment has that name at both
      to: [{model: azure-east/gpt-4o}, {model: azure-west/gpt-4o}]
` + "```" + `

| setting of a row | kind | default | meaning |
|---|---|---|---|
` + referenceRows(t, reflect.TypeFor[settings.ProviderConfig]()) + `

` + "`region`, `project` and `endpoint`" + ` may be ` + "`${NAME}`" + `, an environment variable. A row without ` + "`key_env`" + ` uses the key of its vendor, which is valid in all regions. The key
of an endpoint or a vendor is never sent to another address.
`
	testkit.Page(t, "../../../../docs/gateway/configuration.md", page)
}
