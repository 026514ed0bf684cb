package provider

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/provider/internal/credential"
)

// TestVars: rows that are like a vendor are asked in a region, or at an endpoint, of their own. Amazon's key is good in all of its regions; the
// key of one endpoint is not sent to another.
func TestVars(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_REGION": "us-east-1", credential.AWSBearer: "bearer", credential.AWSID: "", credential.AWSSecret: "", "EU_KEY": "AKIDEU:secret", "NOWHERE": "", "WEST_REGION": "us-west-2",
		"AZURE_OPENAI_ENDPOINT": "https://east.openai.azure.com", "AZURE_OPENAI_API_KEY": "east", "WEST_KEY": "west",
		"GOOGLE_CLOUD_LOCATION": "us-east5", "GOOGLE_CLOUD_PROJECT": "one", "GOOGLE_OAUTH_ACCESS_TOKEN": "token",
	} {
		t.Setenv(name, value)
	}
	c := &Client{Vendors: map[string]Vendor{
		"eu":       {Like: "bedrock", Vars: map[string]string{"AWS_REGION": "eu-west-1"}},
		"eu-own":   {Like: "bedrock", Vars: map[string]string{"AWS_REGION": "eu-west-1"}, KeyEnv: "EU_KEY"},
		"west":     {Like: "bedrock", Vars: map[string]string{"AWS_REGION": "${WEST_REGION}"}},
		"az-west":  {Like: "azure", Vars: map[string]string{"AZURE_OPENAI_ENDPOINT": "https://west.openai.azure.com/"}, KeyEnv: "WEST_KEY"},
		"az-plain": {Like: "azure", Vars: map[string]string{"AZURE_OPENAI_ENDPOINT": "https://west.openai.azure.com"}},
		"eu-vert":  {Like: "vertex-claude", Vars: map[string]string{"GOOGLE_CLOUD_LOCATION": "europe-west1"}},
	}}
	for _, tt := range []struct{ id, host, key string }{
		{"bedrock/amazon.nova-lite-v1:0", "bedrock-runtime.us-east-1.amazonaws.com:443", "bearer"},
		{"eu/amazon.nova-lite-v1:0", "bedrock-runtime.eu-west-1.amazonaws.com:443", "bearer"},
		{"eu-own/amazon.nova-lite-v1:0", "bedrock-runtime.eu-west-1.amazonaws.com:443", "AKIDEU:secret"},
		{"west/amazon.nova-lite-v1:0", "bedrock-runtime.us-west-2.amazonaws.com:443", "bearer"},
		{"azure/gpt-4o", "east.openai.azure.com:443", "east"},
		{"az-west/gpt-4o", "west.openai.azure.com:443", "west"},
		{"az-plain/gpt-4o", "west.openai.azure.com:443", ""},
		{"eu-vert/claude-sonnet-4-5", "europe-west1-aiplatform.googleapis.com:443", "token"},
	} {
		m, err := c.Open(tt.id)
		if err != nil {
			t.Errorf("%s: %v", tt.id, err)
			continue
		}
		known := m.(*Model)
		key, err := c.key(&known.target)
		if known.Host() != tt.host || key != tt.key || err != nil {
			t.Errorf("%s is asked at %s with the key %q, %v", tt.id, known.Host(), key, err)
		}
		if strings.HasPrefix(tt.id, "az") && (!known.vendor.Apart || known.vendor.KeyHeader != "Api-Key" || !strings.HasSuffix(known.base.Path, "/openai/v1")) {
			t.Errorf("%s is not asked as Azure is: %+v at %s", tt.id, known.vendor, known.base)
		}
	}
}

// TestVarsThatAreNone: a value that would make another host of the address is refused, a variable that is not set is named, and where the key
// of a row is not there no other account's is sent.
func TestVarsThatAreNone(t *testing.T) {
	t.Setenv("NOWHERE", "")
	t.Setenv(credential.AWSID, "AKID")
	t.Setenv(credential.AWSSecret, "secret")
	open := func(vars map[string]string) error {
		_, err := (&Client{Vendors: map[string]Vendor{"eu": {Like: "bedrock", Vars: vars}}}).Open("eu/amazon.nova-lite-v1:0")
		return err
	}
	unset := new(UnsetError)
	if err := open(map[string]string{"AWS_REGION": "${NOWHERE}"}); !errors.As(err, &unset) || unset.Names[0] != "NOWHERE" {
		t.Errorf("a variable that is not set: %v", err)
	}
	if err := open(map[string]string{"AWS_REGION": "x.example.org/?"}); err == nil || !strings.Contains(err.Error(), "plain word") {
		t.Errorf("a region with a path: %v", err)
	}
	c := &Client{Vendors: map[string]Vendor{"eu": {Like: "bedrock", Vars: map[string]string{"AWS_REGION": "eu-west-1"}, KeyEnv: "NOWHERE"}}}
	m, err := c.Open("eu/amazon.nova-lite-v1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.(*Model).Ready(); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), "NOWHERE") {
		t.Errorf("without its key: %v", err)
	}
}
