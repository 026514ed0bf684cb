package serveimport

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/provider"
)

// note is a setting that was not imported, with its line.
type note struct {
	line int
	text string
}

// decimal matches a weight. LiteLLM allows fractions.
var decimal = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,6})?$`)

// wholeNumbers converts the weights of upstreams to whole numbers with the same proportions. A missing weight is 1.
func wholeNumbers(to []upstream) {
	if !slices.ContainsFunc(to, func(u upstream) bool { return strings.Contains(u.weight, ".") }) {
		return
	}
	const unit = 1_000_000
	parts, common := make([]int64, len(to)), int64(0)
	for i, u := range to {
		n, _ := strconv.ParseFloat(cmp.Or(u.weight, "1"), 64) // the text is a number
		parts[i] = int64(math.Round(n * unit))
		for a, b := parts[i], common; ; a, b = b, a%b {
			if b == 0 {
				common = a
				break
			}
		}
	}
	for i := range to {
		to[i].weight = strconv.FormatInt(parts[i]/max(common, 1), 10)
	}
}

// importer holds the import of one file.
type importer struct {
	routes    []*route
	notes     []note
	env       map[string]string // the required values of the variables in placeVariables
	notCopied map[string]string // addresses and keys that are not copied, with the variables for them

	models, lost int  // entries of model_list, and how many are left out
	includes     bool // the file includes other files, and these are not read
	rows         []providerRow
	keys         bool // clients had keys
}

// providerRow is an entry of providers.
type providerRow struct{ name, like, base, wire, keyEnv, region, project, endpoint string }

type route struct {
	model    string
	to       []upstream
	fallback []string
	cache    string
	pass     string // endpoints that are passed on
	places   map[string]ast.Node
	hidden   bool
	aliasOf  *route
}

type upstream struct {
	id     string
	weight string
	at     ast.Node // position in the file
}

// modelParams holds the litellm_params of a model.
type modelParams struct {
	name                     string // model_name
	pass                     string // endpoints that are passed on
	model, base, key, vendor ast.Node
	places                   map[string]ast.Node // settings of placeVariables
}

// of returns LiteLLM's name of the vendor, and the vendor's name of the model.
func (p *modelParams) of() (vendor, name string) {
	if vendor, name = configcheck.Scalar(p.vendor), configcheck.Scalar(p.model); vendor == "" {
		vendor = vendorOf(p.model)
	}
	return vendor, strings.TrimPrefix(name, vendor+"/")
}

func (in *importer) skip(n ast.Node, format string, args ...any) {
	line := 1
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		line = n.GetToken().Position.Line
	}
	text, _ := new(journal.Secrets).Redact(fmt.Sprintf(format, args...))
	text = cli.Revealed(keyInName.ReplaceAllString(text, "$1$2=…")) // names of settings that are not imported
	if l := (note{line, text}); !slices.Contains(in.notes, l) {
		in.notes = append(in.notes, l)
	}
}

// read parses a configuration of LiteLLM's proxy.
func read(text []byte) (*importer, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // editors on Windows add a byte order mark
	if err := yamlcheck.Check(text); err != nil {
		return nil, err
	}
	file, err := yamlcheck.ParsePlain(text)
	if err != nil {
		line, problem := configcheck.Problem(err)
		return nil, fmt.Errorf("line %d: it is not YAML: %s", max(line, 1), problem)
	}
	in := &importer{env: map[string]string{}, notCopied: map[string]string{}}
	found := false
	for _, models := range []bool{true, false} { // models first, because settings refer to them
		for _, doc := range file.Docs {
			for key, value := range configcheck.Members(doc.Body) {
				is := keyName(key) == "model_list"
				if found = found || is; is == models {
					in.section(key, value)
				}
			}
		}
	}
	switch {
	case !found:
		return nil, errors.New("it has no model_list, so it is not a configuration of LiteLLM's proxy")
	case in.models == 0:
		return nil, errors.New("its model_list is not a list of models, each with model_name and litellm_params")
	}
	for _, r := range in.routes {
		wholeNumbers(r.to)
	}
	return in, in.empty()
}

// empty returns an error with the reasons if nothing can be imported, else nil.
func (in *importer) empty() error {
	if len(in.routes) > 0 {
		return nil
	}
	var why []string
	for _, l := range in.notes {
		why = append(why, fmt.Sprintf("line %d: %s", l.line, l.text))
	}
	none := fmt.Sprintf("none of its %d models can", in.models)
	if in.models == 1 {
		none = "its one model cannot"
	}
	return fmt.Errorf("%s be taken over: %s", none, strings.Join(why, "; "))
}

// summary describes the result of the import in one line.
func (in *importer) summary() string {
	be := func(n int) string { return map[bool]string{true: "is", false: "are"}[n == 1] }
	taken := in.models - in.lost
	text := fmt.Sprintf("%d of %s %s taken over, in %s", taken, count(in.models, "model"), be(taken), count(len(in.routes), "route"))
	if in.lost > 0 {
		text += fmt.Sprintf("; %s %s left out", count(in.lost, "model"), be(in.lost))
	}
	if in.includes {
		text += "; models of the files in include are not among them"
	}
	if len(in.notes) > 0 {
		text += "; see the differences above, " + count(len(in.notes), "line")
	}
	if in.keys {
		text += "; no key is needed until you set keys"
	}
	return text + ". Next: toolpost serve --check"
}

// keyName returns the name of a key.
func keyName(k ast.Node) string { return strings.Trim(k.String(), `"'`) }

// truth parses a boolean like LiteLLM, which uses YAML 1.1: True, yes and on mean true. known is false for other
// values.
func truth(n ast.Node) (on, known bool) {
	switch strings.ToLower(configcheck.Scalar(n)) {
	case "true", "yes", "on", "y":
		return true, true
	case "false", "no", "off", "n":
		return false, true
	}
	return false, false
}

func items(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return nil
}

// section imports one section of the file.
func (in *importer) section(key, value ast.Node) {
	switch name := keyName(key); name {
	case "model_list":
		for _, m := range items(value) {
			in.model(m)
		}
	case "router_settings", "litellm_settings", "general_settings":
		for k, v := range configcheck.Members(value) {
			in.setting(name, k, v)
		}
	case "environment_variables":
		in.skip(key, "environment_variables is not taken over: set the variables of vendors' keys where the gateway is started")
	case "include":
		in.includes = true
		in.skip(key, "include is not taken over: models and settings of those files are missing; import each of them, and put what they give together")
	default:
		in.skip(key, "%s is not taken over%s", name, hints[name])
	}
}

// count returns a number with a noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// setting imports one setting, or reports why it is left out.
func (in *importer) setting(section string, k, v ast.Node) {
	switch name := keyName(k); name {
	case "fallbacks", "context_window_fallbacks", "content_policy_fallbacks":
		if len(items(v)) == 0 {
			in.skip(k, "%s is not a list of models and their fallbacks", name)
		} else if name != "fallbacks" {
			in.skip(k, "%s are fallbacks for every failure here, not only for the one in their name", name)
		}
		for _, row := range items(v) {
			for from, to := range configcheck.Members(row) {
				in.fallbacks(from, to)
			}
		}
	case "model_group_alias":
		if len(items(v)) > 0 || configcheck.Scalar(v) != "" {
			in.skip(k, "model_group_alias is not a mapping of names to models")
		}
		for name, of := range configcheck.Members(v) {
			in.alias(name, of)
		}
	case "cache":
		switch on, known := truth(v); {
		case !known:
			in.skip(k, "cache is not taken over: it is neither true nor false")
		case on:
			for _, r := range in.routes {
				r.cache = "10m"
			}
			in.skip(k, "cache: answers are given again for 10 minutes, to requests without tools; see cache and cache_tools")
		}
	case "master_key", "database_url", "store_model_in_db":
		in.keys = true
		in.skip(k, "%s is not taken over: 'toolpost keys' makes keys, and keys: in the configuration says where they are kept", name)
	case "num_retries", "allowed_fails", "cooldown_time", "routing_strategy", "enable_pre_call_checks":
		in.skip(k, "%s is not taken over: an upstream is asked again, and the next one when it fails, by rules of the gateway (docs/gateway/operations.md)", name)
	case "drop_params":
		if on, _ := truth(v); !on {
			in.skip(k, "drop_params: what an upstream cannot do is always left out with a warning in a header")
		}
	case "request_timeout", "timeout":
		in.skip(k, "%s is not taken over: limits at the top of the configuration bounds how long an answer may take (limits: {time: 10m, idle: 1m})", name)
	case "success_callback", "failure_callback", "callbacks":
		in.skip(k, "%s is not taken over: the gateway has metrics and a log of requests", name)
	default:
		in.skip(k, "%s of %s is not taken over%s", name, section, hints[name])
	}
}

// fallbacks imports the fallbacks of one model.
func (in *importer) fallbacks(from, to ast.Node) {
	name := keyName(from)
	i := slices.IndexFunc(in.routes, func(r *route) bool { return r.model == name })
	if i < 0 && name == "*" {
		in.skip(from, "fallbacks of * are not taken over: give each route that needs one a fallback of its own")
		return
	}
	if i < 0 {
		in.skip(from, "fallbacks of %s: there is no such model", name)
		return
	}
	for _, t := range items(to) {
		if other := configcheck.Scalar(t); other != "" && !slices.Contains(in.routes[i].fallback, other) {
			in.routes[i].fallback = append(in.routes[i].fallback, other)
			if in.routes[i].places == nil {
				in.routes[i].places = map[string]ast.Node{}
			}
			in.routes[i].places[other] = t
		} else if other == "" {
			in.skip(t, "a fallback of %s is not a name of a model and is left out", name)
		}
	}
}

// dropBadFallbacks removes fallbacks to missing routes and to the route itself.
func (in *importer) dropBadFallbacks() {
	for _, r := range in.routes {
		if r.aliasOf != nil && r.fallback == nil {
			r.fallback, r.places = slices.Clone(r.aliasOf.fallback), r.aliasOf.places
		}
		if r.aliasOf != nil {
			r.cache = r.aliasOf.cache
		}
		r.fallback = slices.DeleteFunc(r.fallback, func(name string) bool {
			bad := name == r.model || !slices.ContainsFunc(in.routes, func(o *route) bool { return o.model == name })
			if bad {
				in.skip(r.places[name], "the fallback %s of %s leads to no other model and is left out", name, r.model)
			}
			return bad
		})
	}
}

// alias imports an alias of a model. The value is the name of the model, or an object with the name.
func (in *importer) alias(key, of ast.Node) {
	name, target, hidden := keyName(key), configcheck.Scalar(of), false
	for k, v := range configcheck.Members(of) {
		switch keyName(k) {
		case "model":
			target = configcheck.Scalar(v)
		case "hidden":
			hidden, _ = truth(v)
		default:
			in.skip(k, "%s of the alias %s is not taken over", keyName(k), name)
		}
	}
	named := func(name string) int {
		return slices.IndexFunc(in.routes, func(r *route) bool { return r.model == name })
	}
	switch i := named(target); {
	case target == "":
		in.skip(key, "the alias %s is left out: it names no model", name)
	case named(name) >= 0:
		in.skip(key, "the alias %s is left out: there is a model of that name", name)
	case i < 0:
		in.skip(key, "the alias %s is left out: there is no model %s", name, target)
	case nameContainsKey(name):
		in.skip(key, "an alias is left out: its name holds what looks like a key, which is not copied")
	default:
		r := in.routes[i]
		in.routes = append(in.routes, &route{model: name, to: slices.Clone(r.to), pass: r.pass, hidden: hidden, aliasOf: r})
	}
}

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

// vendorNames maps LiteLLM's vendor names to those of [provider.Vendors], which has the variables of their keys.
var vendorNames = map[string]string{
	"openai": "openai", "anthropic": "anthropic", "gemini": "gemini", "groq": "groq", "mistral": "mistral", "deepseek": "deepseek",
	"together_ai": "together", "fireworks_ai": "fireworks", "openrouter": "openrouter", "xai": "xai", "cerebras": "cerebras", "bedrock": "bedrock",
	"ollama": "ollama", "ollama_chat": "ollama", "hosted_vllm": "vllm", "vllm": "vllm", "lm_studio": "lmstudio", "vertex_ai": "vertex", "vertex_ai_beta": "vertex",
	"custom_openai": "openai-compatible", "openai_like": "openai-compatible", "litellm_proxy": "openai-compatible", "llamafile": "openai-compatible",
	"azure": "azure", "cohere": "cohere", "cohere_chat": "cohere", "perplexity": "perplexity", "deepinfra": "deepinfra", "moonshot": "moonshot", "nvidia_nim": "nvidia", "huggingface": "huggingface",
}

// bareNames maps prefixes of model names without a vendor to vendors. All other names belong to OpenAI.
var bareNames = []struct{ begin, vendor string }{{"claude", "anthropic"}, {"gemini", "gemini"}, {"command", "cohere"}, {"rerank", "cohere"}, {"embed-", "cohere"}}

// apiPrefixes are prefixes of model names that select an API of a vendor. Here the API is detected.
var apiPrefixes = map[string][]string{"openai": {"responses/"}, "azure": {"responses/"}, "bedrock": {"converse_like/", "converse/", "invoke/"}}

// awsRegion matches an AWS region before the name of a model on Bedrock.
var awsRegion = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]/`)

// placeVariables maps settings of a model to environment variables of the gateway. The gateway has only one value for each.
var placeVariables = map[string]string{"aws_region_name": "AWS_REGION", "vertex_project": "GOOGLE_CLOUD_PROJECT", "vertex_location": "GOOGLE_CLOUD_LOCATION"}

// modes maps LiteLLM's modes of other than chat models to the endpoints that are passed on for them.
var modes = map[string]string{
	"embedding": "embeddings", "image_generation": "images", "audio_transcription": "audio", "audio_speech": "audio", "moderation": "moderations", "rerank": "rerank",
}

// hints maps settings of LiteLLM to hints about the equivalent here.
var hints = map[string]string{
	"max_budget":      moneyHint,
	"budget_duration": moneyHint,

	"aws_access_key_id": awsHint, "aws_secret_access_key": awsHint, "aws_session_token": awsHint,
}

const awsHint = ": put the access key into a variable as ID:SECRET, and name it in key_env of a row under providers, {like: bedrock, key_env: NAME}"

const moneyHint = ": 'toolpost keys create --limit money/month=50', or 'keys team', bounds what is spent"

// vendorOf returns LiteLLM's name of a model's vendor.
func vendorOf(model ast.Node) string {
	vendor, _, ok := strings.Cut(configcheck.Scalar(model), "/")
	if ok {
		return vendor
	}
	for _, row := range bareNames {
		if strings.HasPrefix(vendor, row.begin) {
			return row.vendor
		}
	}
	return "openai"
}

// vendorCalled returns the vendor with a name of ours. It has no name if there is none.
func vendorCalled(name string) provider.Vendor {
	list := provider.Vendors()
	if i := slices.IndexFunc(list, func(v provider.Vendor) bool { return v.Name == name }); i >= 0 {
		return list[i]
	}
	return provider.Vendor{}
}
