package serve_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// TestRegionsAndEndpoints: providers that copy a vendor can set its region or endpoint, and routes can use several of
// them.
func TestRegionsAndEndpoints(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AZURE_OPENAI_ENDPOINT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT"} {
		t.Setenv(name, "")
	}
	for _, name := range []string{"EAST_KEY", "WEST_KEY", "AWS_BEARER_TOKEN_BEDROCK", "GOOGLE_OAUTH_ACCESS_TOKEN"} {
		t.Setenv(name, "a-key-of-eight")
	}
	t.Setenv("THIRD_REGION", "ap-southeast-2")
	file := filepath.Join(t.TempDir(), "c.yaml")
	programtest.WriteFile(t, file, `providers:
  azure-east: {like: azure, endpoint: "https://east.openai.azure.com", key_env: EAST_KEY}
  azure-west: {like: azure, endpoint: "https://west.openai.azure.com/", key_env: WEST_KEY}
  bedrock-eu: {like: bedrock, region: eu-west-1}
  bedrock: {region: us-west-2}
  third: {like: bedrock, region: "${THIRD_REGION}"}
  claude-eu: {like: vertex-claude, region: europe-west1, project: one}
gateway:
  routes:
    - {model: gpt, to: [{model: azure-east/gpt-4o}, {model: azure-west/gpt-4o}]}
    - {model: nova, to: [{model: "bedrock-eu/amazon.nova-lite-v1:0"}, {model: "bedrock/amazon.nova-lite-v1:0"}, {model: "third/amazon.nova-lite-v1:0"}]}
    - {model: claude, to: [{model: claude-eu/claude-sonnet-4-5}]}
`)
	got := programtest.Run(t, "", "serve", "--check", "--config", file)
	programtest.Must(t, got, 0, "the routes are in order: gpt, nova, claude")
	if got.ErrOut != "" {
		t.Error(got.ErrOut)
	}
	s := settings.Defaults()
	if err := s.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	c, err := openmodel.Client(&s.ModelOptions)
	if err != nil {
		t.Fatal(err)
	}
	for id, host := range map[string]string{
		"azure-east/gpt-4o": "east.openai.azure.com:443", "azure-west/gpt-4o": "west.openai.azure.com:443",
		"bedrock-eu/amazon.nova-lite-v1:0": "bedrock-runtime.eu-west-1.amazonaws.com:443", "bedrock/amazon.nova-lite-v1:0": "bedrock-runtime.us-west-2.amazonaws.com:443",
		"third/amazon.nova-lite-v1:0": "bedrock-runtime.ap-southeast-2.amazonaws.com:443", "claude-eu/claude-sonnet-4-5": "europe-west1-aiplatform.googleapis.com:443",
	} {
		m, err := c.Open(id)
		if err != nil || modelHost(m) != host {
			t.Errorf("%s is asked at %q, %v", id, modelHost(m), err)
		}
	}
	shown := programtest.Run(t, "", "config", "show", "providers", "--config", file)
	programtest.Must(t, shown, 0, "region: eu-west-1")
	if !strings.Contains(shown.Out, "https://east.openai.azure.com") || strings.Contains(shown.Out, "base_url") {
		t.Error(shown.Out)
	}
}

// TestWrongRegionsAndEndpoints: settings without effect, or that would change the address, are refused with their line.
func TestWrongRegionsAndEndpoints(t *testing.T) {
	for row, want := range map[string]string{
		"{like: openai, region: eu-west-1}":                                 "a has a region, and the address of openai has none; it is for rows that are like vertex-claude, bedrock",
		"{region: eu-west-1}":                                               "the address of your own server has none",
		"{like: bedrock, region: eu-west-1, base_url: \"https://x.test\"}":  "a has a base_url, so region says nothing",
		"{like: bedrock, region: \"x.example.org/y\"}":                      "a has a region that is not a plain word",
		"{like: azure, endpoint: \"https://x.openai.azure.com\"}":           "no key_env, which names the variable of its key: the one in AZURE_OPENAI_API_KEY is not sent to another endpoint",
		"{like: azure, endpoint: x.openai.azure.com, key_env: K}":           "the endpoint of a is not an address",
		"{like: azure, endpoint: \"https://x.test/openai/v1\", key_env: K}": "must end before /openai",
		"{like: azure, endpoint: \"https://u:p@x.test\", key_env: K}":       "has a password, a query or a fragment",
		"{like: azure, endpoint: \"https://x.test/?k=hidden\", key_env: K}": "has a password, a query or a fragment",
		"{like: vertex-claude, project: \"a/b\", region: europe-west1}":     "a has a project that is not a plain word",
		"{like: bedrock, endpoint: \"https://x.test\", key_env: K}":         "it is for rows that are like azure",
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		programtest.WriteFile(t, file, "providers:\n  a: "+row+"\ngateway: {routes: [{model: x, to: [{model: sim/native}]}]}\n")
		got := programtest.Run(t, "", "serve", "--check", "--config", file)
		programtest.Must(t, got, 1, want)
		if !strings.Contains(got.ErrOut, file+":2: ") || strings.Contains(got.ErrOut, "hidden") || strings.Contains(got.ErrOut, "u:p@") {
			t.Errorf("%s: %s", row, got.ErrOut)
		}
	}
}

// TestImportOfRegionsAndEndpoints: each LiteLLM model with a separate endpoint or region gets an entry in providers.
func TestImportOfRegionsAndEndpoints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	programtest.WriteFile(t, file, `model_list:
  - {model_name: gpt, litellm_params: {model: azure/gpt-4o, api_base: "https://east.openai.azure.com/", api_key: os.environ/EAST_KEY}}
  - {model_name: gpt, litellm_params: {model: azure/gpt-4o, api_base: "https://west.openai.azure.com/openai/deployments/gpt-4o", api_key: os.environ/WEST_KEY}}
  - {model_name: mini, litellm_params: {model: azure/gpt-4o-mini, api_base: "https://east.openai.azure.com", api_key: os.environ/EAST_KEY}}
  - {model_name: nova, litellm_params: {model: bedrock/amazon.nova-lite-v1:0, aws_region_name: us-east-1}}
  - {model_name: nova, litellm_params: {model: bedrock/eu-west-1/amazon.nova-lite-v1:0, api_key: os.environ/EU_TOKEN}}
  - {model_name: nova, litellm_params: {model: bedrock/amazon.nova-lite-v1:0, aws_region_name: os.environ/AWS_REGION_NAME}}
  - {model_name: claude, litellm_params: {model: vertex_ai/claude-sonnet-4-5, vertex_location: europe-west1, vertex_project: one}}
`)
	want := `providers:
  azure-east: {like: azure, endpoint: "https://east.openai.azure.com", key_env: "EAST_KEY"}
  azure-west: {like: azure, endpoint: "https://west.openai.azure.com", key_env: "WEST_KEY"}
  bedrock-us-east-1: {like: bedrock, region: us-east-1}
  bedrock-eu-west-1: {like: bedrock, region: eu-west-1, key_env: "EU_TOKEN"}
  bedrock-aws-region-name: {like: bedrock, region: "${AWS_REGION_NAME}"}
  vertex-claude-europe-west1: {like: vertex-claude, region: europe-west1, project: one}
gateway:
  routes:
    - model: gpt
      to:
        - {model: azure-east/gpt-4o}
        - {model: azure-west/gpt-4o}
    - model: mini
      to:
        - {model: azure-east/gpt-4o-mini}
    - model: nova
      to:
        - {model: "bedrock-us-east-1/amazon.nova-lite-v1:0"}
        - {model: "bedrock-eu-west-1/amazon.nova-lite-v1:0"}
        - {model: "bedrock-aws-region-name/amazon.nova-lite-v1:0"}
    - model: claude
      to:
        - {model: vertex-claude-europe-west1/claude-sonnet-4-5}
`
	if got := programtest.Run(t, "", "serve", "import", file); got.Code != 0 || got.Out != want {
		t.Errorf("exit %d:\n%s\n%s", got.Code, got.Out, got.ErrOut)
	}
}

// modelHost returns the host and port of a model's server.
func modelHost(m llm.Model) string { return m.(*provider.Model).Host() }
