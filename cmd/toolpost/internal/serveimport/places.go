package serveimport

import (
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
)

// azureHost matches an address on Azure with its API path, and captures the part before the path.
var azureHost = regexp.MustCompile(`^([^?#]*?)/openai(/.*)?$`)

// notInNames matches characters that are invalid in the name of a provider.
var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

// place imports the location of a model: the endpoint on Azure, the region on Bedrock, the region and the project of
// Claude on Vertex AI. It reports locations that a provider cannot express.
func (in *importer) place(p *modelParams, row *providerRow, vendor, name, region string) {
	switch {
	case vendor == "azure":
		row.endpoint, row.base = row.base, ""
		row.like = "azure"
	case vendor == "bedrock" && row.base == "":
		if row.region = in.placeOf(p, "aws_region_name"); row.region == "" {
			row.region = region
		}
		row.like = "bedrock"
	case vendor == "vertex" && row.base == "" && strings.HasPrefix(name, "claude"):
		row.region, row.project = in.placeOf(p, "vertex_location"), in.placeOf(p, "vertex_project")
		row.like = "vertex-claude"
	case vendor == "vertex" && row.base == "":
		in.withoutPlace(p)
	default:
		if region != "" {
			in.fromEnv(p.model, "aws_region_name", region)
		}
		for _, setting := range []string{"aws_region_name", "vertex_project", "vertex_location"} {
			if n := p.places[setting]; n != nil {
				in.fromEnv(n, setting, configcheck.Scalar(n))
			}
		}
	}
	if row.region+row.project+row.endpoint == "" {
		row.like = ""
	}
}

// withoutPlace reports that the project and the region of Gemini on Vertex AI are dropped. With a key, no variable is
// needed for them.
func (in *importer) withoutPlace(p *modelParams) {
	if n := p.places["vertex_project"]; n != nil {
		in.skip(n, "vertex_project is not needed: Gemini is asked with the key in %s, which is of one project", vendorCalled("vertex").KeyEnv)
	}
	if n := p.places["vertex_location"]; n != nil {
		in.skip(n, "vertex_location is not taken over: with a key, Gemini is asked at Google's address for all regions")
	}
}

// placeOf returns a location setting as written in providers, "" if it comes from the environment anyway.
func (in *importer) placeOf(p *modelParams, setting string) string {
	n := p.places[setting]
	value := configcheck.Scalar(n)
	variable, fromVariable := strings.CutPrefix(value, "os.environ/")
	switch {
	case n == nil || variable == placeVariables[setting]:
		return ""
	case fromVariable && isVariable(variable):
		return "${" + variable + "}"
	case fromVariable || !addressPart.MatchString(value) || containsKey(value):
		in.skipUnset(n, setting)
		return ""
	}
	return value
}

// skipUnset reports that a setting must be in the environment.
func (in *importer) skipUnset(n ast.Node, setting string) {
	in.skip(n, "%s: set %s where the gateway is started", setting, placeVariables[setting])
}

// addressPart matches values that are safe within an address.
var addressPart = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)
