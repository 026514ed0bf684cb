package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// newServeImport returns the command that converts a configuration of LiteLLM's proxy to one of a gateway.
func newServeImport() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Make a configuration from that of LiteLLM's proxy",
		Long: `Read the config.yaml of LiteLLM's proxy and print the configuration of a gateway that
does the same. What cannot be taken over is said on standard error, each with its line.
No key is copied: vendors' keys are read from their variables of the environment.`,
		Example: "  toolpost serve import litellm/config.yaml > gateway.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := cli.ReadFile(args[0], maxConfig)
			if err != nil {
				return err
			}
			in, err := importLiteLLM(text)
			if err == nil {
				err = in.settle()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			for _, l := range in.left {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d: %s\n", args[0], l.line, l.text)
			}
			fmt.Fprintln(cmd.ErrOrStderr(), in.summary())
			_, err = io.WriteString(cmd.OutOrStdout(), in.write())
			return err
		},
	}
}

// leftover is a setting that was not imported, with its line.
type leftover struct {
	line int
	text string
}

// isLiteLLM reports whether a key is a top section of a LiteLLM proxy configuration.
func isLiteLLM(key string) bool {
	return slices.Contains([]string{"model_list", "litellm_settings", "general_settings", "router_settings"}, key)
}

// liteVendors maps LiteLLM's vendor names to those of [provider.Vendors], which has the variables of their keys.
var liteVendors = map[string]string{
	"openai": "openai", "anthropic": "anthropic", "gemini": "gemini", "groq": "groq", "mistral": "mistral", "deepseek": "deepseek",
	"together_ai": "together", "fireworks_ai": "fireworks", "openrouter": "openrouter", "xai": "xai", "cerebras": "cerebras", "bedrock": "bedrock",
	"ollama": "ollama", "ollama_chat": "ollama", "hosted_vllm": "vllm", "vllm": "vllm", "lm_studio": "lmstudio", "vertex_ai": "vertex", "vertex_ai_beta": "vertex",
	"custom_openai": "openai-compatible", "openai_like": "openai-compatible", "litellm_proxy": "openai-compatible", "llamafile": "openai-compatible",
	"azure": "azure", "cohere": "cohere", "cohere_chat": "cohere", "perplexity": "perplexity", "deepinfra": "deepinfra", "moonshot": "moonshot", "nvidia_nim": "nvidia", "huggingface": "huggingface",
}

// liteBare maps prefixes of model names without a vendor to vendors. All other names belong to OpenAI.
var liteBare = []struct{ begin, vendor string }{{"claude", "anthropic"}, {"gemini", "gemini"}, {"command", "cohere"}, {"rerank", "cohere"}, {"embed-", "cohere"}}

// liteWays are prefixes of model names that select an API of a vendor. Here the API is detected.
var liteWays = map[string][]string{"openai": {"responses/"}, "azure": {"responses/"}, "bedrock": {"converse_like/", "converse/", "invoke/"}}

// liteRegion matches an AWS region before the name of a model on Bedrock.
var liteRegion = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]/`)

// liteEnv maps settings of a model to environment variables of the gateway. The gateway has only one value for each.
var liteEnv = map[string]string{"aws_region_name": "AWS_REGION", "vertex_project": "GOOGLE_CLOUD_PROJECT", "vertex_location": "GOOGLE_CLOUD_LOCATION"}

// liteModes maps LiteLLM's modes of other than chat models to the endpoints that are passed on for them.
var liteModes = map[string]string{
	"embedding": "embeddings", "image_generation": "images", "audio_transcription": "audio", "audio_speech": "audio", "moderation": "moderations", "rerank": "rerank",
}

// liteHints maps settings of LiteLLM to hints about the equivalent here.
var liteHints = map[string]string{
	"max_budget":      moneyHint,
	"budget_duration": moneyHint,

	"aws_access_key_id": awsHint, "aws_secret_access_key": awsHint, "aws_session_token": awsHint,
}

const awsHint = ": put the access key into a variable as ID:SECRET, and name it in key_env of a row under providers, {like: bedrock, key_env: NAME}"

const moneyHint = ": 'toolpost keys create --limit money/month=50', or 'keys team', bounds what is spent"

// decimal matches a weight. LiteLLM allows fractions.
var decimal = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,6})?$`)

// wholeWeights converts the weights of upstreams to whole numbers with the same proportions. A missing weight is 1.
func wholeWeights(to []importedUpstream) {
	if !slices.ContainsFunc(to, func(u importedUpstream) bool { return strings.Contains(u.weight, ".") }) {
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

// importing holds the import of one file.
type importing struct {
	routes   []*importedRoute
	settings map[string]string
	left     []leftover
	env      map[string]string // the required values of the variables in liteEnv
	unsaid   map[string]string // addresses and keys that are not copied, with the variables for them

	models, lost int  // entries of model_list, and how many are left out
	includes     bool // the file includes other files, and these are not read
	rows         []importedRow
	keys         bool // clients had keys
}

// importedRow is an entry of providers.
type importedRow struct{ name, like, base, wire, keyEnv, region, project, endpoint string }

type importedRoute struct {
	model    string
	to       []importedUpstream
	fallback []string
	cache    string
	pass     string // endpoints that are passed on
	places   map[string]ast.Node
	hidden   bool
	aliasOf  *importedRoute
}

type importedUpstream struct {
	id     string
	weight string
	at     ast.Node // position in the file
}

// liteParams holds the litellm_params of a model.
type liteParams struct {
	name                     string // model_name
	pass                     string // endpoints that are passed on
	model, base, key, vendor ast.Node
	places                   map[string]ast.Node // settings of liteEnv
}

// of returns LiteLLM's name of the vendor, and the vendor's name of the model.
func (p *liteParams) of() (vendor, name string) {
	if vendor, name = configcheck.Scalar(p.vendor), configcheck.Scalar(p.model); vendor == "" {
		vendor = vendorOf(p.model)
	}
	return vendor, strings.TrimPrefix(name, vendor+"/")
}

func (in *importing) leave(n ast.Node, format string, args ...any) {
	line := 1
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		line = n.GetToken().Position.Line
	}
	text, _ := new(journal.Secrets).Redact(fmt.Sprintf(format, args...))
	text = cli.Revealed(keyInName.ReplaceAllString(text, "$1$2=…")) // names of settings that are not imported
	if l := (leftover{line, text}); !slices.Contains(in.left, l) {
		in.left = append(in.left, l)
	}
}

// importLiteLLM parses a configuration of LiteLLM's proxy.
func importLiteLLM(text []byte) (*importing, error) {
	text = withoutMark(text)
	if err := yamlcheck.Check(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		line, problem := configcheck.Problem(err)
		return nil, fmt.Errorf("line %d: it is no YAML: %s", max(line, 1), problem)
	}
	in := &importing{settings: map[string]string{}, env: map[string]string{}, unsaid: map[string]string{}}
	found, anchors := false, map[string]ast.Node{}
	for _, doc := range file.Docs {
		doc.Body = withoutAliases(doc.Body, anchors)
	}
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
		return nil, errors.New("it has no model_list, so it is no configuration of LiteLLM's proxy")
	case in.models == 0:
		return nil, errors.New("its model_list is no list of models, each with model_name and litellm_params")
	}
	for _, r := range in.routes {
		wholeWeights(r.to)
	}
	return in, in.empty()
}

// empty returns an error with the reasons if nothing can be imported, else nil.
func (in *importing) empty() error {
	if len(in.routes) > 0 {
		return nil
	}
	var why []string
	for _, l := range in.left {
		why = append(why, fmt.Sprintf("line %d: %s", l.line, l.text))
	}
	none := fmt.Sprintf("none of its %d models can", in.models)
	if in.models == 1 {
		none = "its one model cannot"
	}
	return fmt.Errorf("%s be taken over: %s", none, strings.Join(why, "; "))
}

// summary describes the result of the import in one line.
func (in *importing) summary() string {
	be := func(n int) string { return map[bool]string{true: "is", false: "are"}[n == 1] }
	taken := in.models - in.lost
	text := fmt.Sprintf("%d of %s %s taken over, in %s", taken, counted(in.models, "model"), be(taken), counted(len(in.routes), "route"))
	if in.lost > 0 {
		text += fmt.Sprintf("; %s %s left out", counted(in.lost, "model"), be(in.lost))
	}
	if in.includes {
		text += "; models of the files in include are not among them"
	}
	if len(in.left) > 0 {
		text += "; " + counted2(len(in.left), "line above says", "lines above say") + " what is not as it was"
	}
	if in.keys {
		text += "; nobody needs a key until you set keys"
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
func (in *importing) section(key, value ast.Node) {
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
		in.leave(key, "environment_variables is not taken over: set the variables of vendors' keys where the gateway is started")
	case "include":
		in.includes = true
		in.leave(key, "include is not taken over: models and settings of those files are missing; import each of them, and put what they give together")
	default:
		in.leave(key, "%s is not taken over%s", name, liteHints[name])
	}
}

// model imports one entry of model_list.
func (in *importing) model(n ast.Node) {
	var name, pass string
	var params ast.Node
	for k, v := range configcheck.Members(n) {
		switch keyName(k) {
		case "model_name":
			name = configcheck.Scalar(v)
		case "litellm_params":
			params = v
		case "model_info":
			pass = in.mode(k, v)
		default:
			in.leave(k, "%s of a model is not taken over", keyName(k))
		}
	}
	in.models++
	if name == "" || params == nil {
		in.lost++
		in.leave(n, "a model is left out: it has no %s", map[bool]string{true: "model_name", false: "litellm_params"}[name == ""])
		return
	}
	up := importedUpstream{at: n}
	if up.id, up.weight = in.params(params, name, pass); up.id == "" {
		in.lost++ // the reason is already reported
		return
	}
	if pass == "" && strings.Contains(strings.ToLower(up.id), "embed") {
		pass = "embeddings"
	}
	i := slices.IndexFunc(in.routes, func(r *importedRoute) bool { return r.model == name })
	if i < 0 {
		i = len(in.routes)
		in.routes = append(in.routes, &importedRoute{model: name})
	}
	in.routes[i].to = append(in.routes[i].to, up)
	if pass != "" {
		in.routes[i].pass = pass
	}
}

// mode imports the mode of a model, and reports the rest of model_info.
func (in *importing) mode(key, info ast.Node) (pass string) {
	rest := false
	for k, v := range configcheck.Members(info) {
		if keyName(k) != "mode" {
			rest = true
			continue
		}
		mode := configcheck.Scalar(v)
		if pass = liteModes[mode]; pass == "" && mode != "chat" && mode != "completion" && mode != "responses" {
			in.leave(v, "the mode %s is not known here; the model is taken for one that chats", mode)
		}
	}
	if rest {
		in.leave(key, "model_info is not taken over: prices and sizes come from the catalogue, see 'toolpost models show'")
	}
	return pass
}

// params imports litellm_params.
func (in *importing) params(n ast.Node, called, pass string) (id, weight string) {
	p := &liteParams{name: called, pass: pass, places: map[string]ast.Node{}}
	for k, v := range configcheck.Members(n) {
		switch name := keyName(k); name {
		case "model":
			p.model = v
		case "api_base", "base_url":
			p.base = v
		case "weight":
			if weight = configcheck.Scalar(v); !decimal.MatchString(weight) {
				weight = ""
				in.leave(k, "weight is no number that is 0 or more, and is left out")
			}
		case "api_key":
			p.key = v
		case "custom_llm_provider":
			p.vendor = v
		case "aws_region_name", "vertex_project", "vertex_location":
			p.places[name] = v
		case "rpm", "tpm", "max_parallel_requests":
			in.leave(k, "%s is not taken over: it is a limit of the vendor's. max_requests of the route bounds requests at the same time, and limits of keys (requests/minute, tokens/minute) what each may use", name)
		default:
			in.leave(k, "%s is not taken over%s", name, liteHints[name])
		}
	}
	return in.named(p, n), weight
}

// named returns the id of a model by its name. It returns "" and reports the reason if the model is left out.
func (in *importing) named(p *liteParams, at ast.Node) (id string) {
	called := p.name
	switch model := configcheck.Scalar(p.model); {
	case p.model == nil:
		in.leave(at, "a model is left out: its litellm_params have no model")
	case strings.HasPrefix(model, "os.environ/"):
		in.leave(p.model, "a model is left out: its name is to come from a variable of the environment, which is not read for that; write the name itself")
	case nameHoldsKey(called) || nameHoldsKey(model) || holdsKey(configcheck.Scalar(p.vendor)):
		in.leave(at, "a model is left out: its name holds what looks like a key, which is not copied")
	case strings.ContainsAny(model, "?#"):
		in.leave(p.model, "a model is left out: its name has a query or a fragment, which are not copied")
	case model == "*" && called == "*" && p.base == nil && p.vendor == nil && p.key == nil:
		in.leave(p.model, "* is asked for the model that the client names, as VENDOR/MODEL (openai/gpt-4o) in the words of this gateway, or by the name alone where its maker is known (gpt-4o, claude-sonnet-4-5); for other names without a vendor add a route, like llama-* to groq/llama-*")
		id = "*"
	case model == "*" && p.vendor == nil:
		in.leave(p.model, "a model is left out: * is every model of every vendor, and one address, key or name is not good for all; write VENDOR/*")
	default:
		id = in.id(p)
	}
	return id
}

// fromEnv reports the required value of an environment variable. Each variable has one value, so different values of
// other models are lost.
func (in *importing) fromEnv(n ast.Node, setting, value string) {
	variable := liteEnv[setting]
	switch was := in.env[variable]; {
	case value == "" || strings.HasPrefix(value, "os.environ/"):
		in.leaveUnset(n, setting)
	case was == "":
		in.env[variable] = value
		in.leave(n, "%s: set %s to %s where the gateway is started", setting, variable, value)
	case was != value:
		in.leave(n, "%s: a second one (%s) is not taken over: the gateway has one, in %s", setting, value, variable)
	}
}

// id returns the id of a model in our syntax, "" if the model is left out. A model with another address or key than the
// vendor's gets an entry in providers.
func (in *importing) id(p *liteParams) string {
	word, name := p.of()
	vendor := vendors()[liteVendors[word]]
	if vendor.Name == "" {
		in.leave(p.model, "a model is left out: the vendor %s is not known here; write an id for it by hand (docs/providers.md)", word)
		return ""
	}
	base, ok := in.address(p, vendor.Name)
	if !ok {
		return ""
	}
	row := importedRow{base: base, keyEnv: in.keyOf(p, vendor, base != "")}
	name, region := in.bareName(p, word, name)
	if in.place(p, &row, vendor.Name, name, region); row.region+row.project+row.endpoint != "" {
		return in.row(row) + "/" + name
	}
	if base == "" && vendor.Name == "cohere" && p.pass == "rerank" { // the vendor's other endpoints have a different address
		row.base, row.keyEnv = "https://api.cohere.com/v2", cmp.Or(row.keyEnv, vendor.KeyEnv)
	}
	like := false // whether the row refers to its vendor with like
	switch vendor.Name {
	case "openai", "openai-compatible", "vllm", "lmstudio", "cohere":
		row.wire = wire.Chat
	case "ollama":
		row.wire = wire.Ollama
	default:
		like = true
	}
	switch {
	case row.base == "" && row.keyEnv == "":
		return vendor.Name + "/" + name
	case row.base == "" || like:
		row.like, row.wire = vendor.Name, ""
	case row.keyEnv == "" && !strings.Contains(row.base, "${"):
		return addressed(vendor.Name, row.base) + "#" + name
	}
	if row.keyEnv == "" && !strings.Contains(row.base, "${") { // the format of a vendor at another address
		return addressed(vendor.Name, row.base) + "#" + name
	}
	return in.row(row) + "/" + name
}

// addressed returns the prefix of an id that contains the address of a server.
func addressed(vendor, base string) string {
	if vendor == "openai" || vendor == "openai-compatible" {
		return base
	}
	return vendor + "+" + base
}

// bareName returns the name of a model without the prefixes for its API and region.
func (in *importing) bareName(p *liteParams, vendor, name string) (bare, region string) {
	for _, way := range liteWays[vendor] {
		name = strings.TrimPrefix(name, way)
	}
	switch region := liteRegion.FindString(name); {
	case vendor == "bedrock" && region != "":
		return strings.TrimPrefix(name, region), strings.TrimSuffix(region, "/")
	case strings.HasPrefix(vendor, "vertex_ai"):
		in.leave(p.model, "%s on Vertex AI is asked with a key in %s, or Claude with a token in %s; LiteLLM uses a Google account", name, vendors()["vertex"].KeyEnv, vendors()["vertex-claude"].KeyEnv)
	case vendor == "gemini" && p.base == nil && !strings.Contains(configcheck.Scalar(p.model), "/"):
		in.leave(p.model, "%s is asked at Gemini's own API, with %s; LiteLLM asks Vertex AI for a name without a vendor", name, vendors()["gemini"].KeyEnv)
	}
	return name, ""
}

// liteAzureKey is the variable that LiteLLM reads for Azure models without a separate key.
const liteAzureKey = "AZURE_API_KEY"

// keyOf returns the variable that holds the key of a model, "" if it is the vendor's own or there is no key.
func (in *importing) keyOf(p *liteParams, v provider.Vendor, elsewhere bool) string {
	vendor, own := v.Name, v.KeyEnv
	variable, isVariable := strings.CutPrefix(configcheck.Scalar(p.key), "os.environ/")
	switch {
	case p.key == nil && vendor == "azure" && elsewhere:
		return liteAzureKey
	case p.key == nil:
		return ""
	case isVariable && (variable == "" || !variableName(variable) || holdsKey(variable)):
		in.leave(p.key, "api_key is not copied: what stands behind os.environ/ is no name of a variable")
		return ""
	case !isVariable && vendor == "azure" && elsewhere: // each endpoint has separate keys
		variable = in.variableFor(configcheck.Scalar(p.key), p.name, "_API_KEY")
		in.leave(p.key, "api_key is not copied: put the key into %s where the gateway is started", variable)
		return variable
	case !isVariable && (elsewhere || own == ""):
		in.leave(p.key, "api_key is not copied: this server is asked without a key; put the key into a variable, and add a row under providers with base_url and key_env")
		return ""
	case !isVariable:
		in.leave(p.key, "api_key is not copied: put the key into %s where the gateway is started", own)
		return ""
	case vendor == "vertex":
		if variable != own {
			in.leave(p.key, "api_key: the gateway reads this vendor's key from %s, not from %s", own, variable)
		}
		return ""
	case !elsewhere && variable == own:
		return ""
	}
	return variable
}

// address returns the address of a model's server, "" for the vendor's own. ok is false if the model is left out, which
// is reported. An address that may hold a key, or that comes from a variable, is replaced by a variable.
func (in *importing) address(p *liteParams, vendor string) (base string, ok bool) {
	at := strings.TrimSuffix(configcheck.Scalar(p.base), "/")
	if variable, is := strings.CutPrefix(at, "os.environ/"); is {
		if !variableName(variable) || variable == "" || holdsKey(variable) {
			in.leave(p.base, "a model is left out: its api_base is to come from a variable, and what stands there is no name of one")
			return "", false
		}
		return served("${"+variable+"}", vendor), true
	}
	if p.base == nil || at == "" {
		return "", true
	}
	if vendor == "azure" { // LiteLLM also accepts the address of a deployment
		at = strings.TrimSuffix(beforeOpenAI.ReplaceAllString(at, "$1"), "/")
	}
	_, rest, isURL := strings.Cut(at, "://")
	host, path, _ := strings.Cut(rest, "/")
	switch {
	case !isURL || strings.ContainsFunc(at, func(r rune) bool { return r <= ' ' || r == '$' || r == 0x7f }):
		in.leave(p.base, "a model is left out: its api_base is no address")
		return "", false
	case strings.Contains(host, "@"):
		in.leave(p.base, "a model is left out: its api_base has a user or a password in it, which are not copied: put the key into a variable, and add a row under providers with base_url and key_env")
		return "", false
	case strings.ContainsAny(rest, "?#"):
		in.leave(p.base, "a model is left out: its api_base has a query or a fragment, which are not copied: a key in it belongs into a variable; add a row under providers with base_url and key_env")
		return "", false
	case holdsKey(at) || mayHoldKey(path):
		variable := in.variableFor(at, p.name, "_BASE_URL")
		in.leave(p.base, "api_base is not copied: its path holds what may be a key; set %s to it where the gateway is started", variable)
		return served("${"+variable+"}", vendor), true
	}
	return served(at, vendor), true
}

// served appends the path of a vendor's API to the address of a server, unless it is already there.
func served(base, vendor string) string {
	below := map[string]string{"ollama": "/api", "anthropic": "/v1"}[vendor]
	if strings.HasSuffix(base, below) {
		return base
	}
	return base + below
}

// variableFor returns the variable for an address or a key that is not copied. It is named after the model.
func (in *importing) variableFor(text, model, end string) string {
	if known := in.unsaid[text]; known != "" {
		return known
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && variableName(string(r)) {
			return unicode.ToUpper(r)
		}
		return '_'
	}, model), "_") + end
	if holdsKey(model) || name[0] >= '0' && name[0] <= '9' || name[0] == '_' {
		name = "MODEL" + end
	}
	free := name
	for n := 2; slices.Contains(slices.Collect(maps.Values(in.unsaid)), free); n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	in.unsaid[text] = free
	return free
}

// row adds an entry to providers, unless an equal one exists, and returns its name.
func (in *importing) row(row importedRow) string {
	for _, r := range in.rows {
		if row.name = r.name; row == r {
			return r.name
		}
	}
	called := cmp.Or(row.keyEnv, strings.Trim(strings.SplitN(row.base, "}", 2)[0], "${"))
	if row.region+row.project+row.endpoint != "" {
		_, host, _ := strings.Cut(row.endpoint, "://")
		called = row.like + "-" + strings.Trim(cmp.Or(row.region, strings.SplitN(host, ".", 2)[0], row.endpoint, row.project), "${}")
	}
	called = cmp.Or(strings.Trim(rowName.ReplaceAllString(strings.ToLower(called), "-"), "-"), "row")
	if rest := strings.TrimPrefix(called, row.like+"-"); row.like != "" && strings.HasPrefix(rest, row.like+"-") {
		called = rest
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(in.rows, func(r importedRow) bool { return r.name == name }) || slices.ContainsFunc(provider.Vendors(), func(v provider.Vendor) bool { return v.Name == name })
	}
	row.name = called
	for n := 2; taken(row.name); n++ {
		row.name = fmt.Sprintf("%s-%d", called, n)
	}
	in.rows = append(in.rows, row)
	return row.name
}

// alias imports an alias of a model. The value is the name of the model, or an object with the name.
func (in *importing) alias(key, of ast.Node) {
	name, target, hidden := keyName(key), configcheck.Scalar(of), false
	for k, v := range configcheck.Members(of) {
		switch keyName(k) {
		case "model":
			target = configcheck.Scalar(v)
		case "hidden":
			hidden, _ = truth(v)
		default:
			in.leave(k, "%s of the alias %s is not taken over", keyName(k), name)
		}
	}
	named := func(name string) int {
		return slices.IndexFunc(in.routes, func(r *importedRoute) bool { return r.model == name })
	}
	switch i := named(target); {
	case target == "":
		in.leave(key, "the alias %s is left out: it names no model", name)
	case named(name) >= 0:
		in.leave(key, "the alias %s is left out: there is a model of that name", name)
	case i < 0:
		in.leave(key, "the alias %s is left out: there is no model %s", name, target)
	case nameHoldsKey(name):
		in.leave(key, "an alias is left out: its name holds what looks like a key, which is not copied")
	default:
		r := in.routes[i]
		in.routes = append(in.routes, &importedRoute{model: name, to: slices.Clone(r.to), pass: r.pass, hidden: hidden, aliasOf: r})
	}
}

// vendorOf returns LiteLLM's name of a model's vendor.
func vendorOf(model ast.Node) string {
	vendor, _, ok := strings.Cut(configcheck.Scalar(model), "/")
	if ok {
		return vendor
	}
	for _, row := range liteBare {
		if strings.HasPrefix(vendor, row.begin) {
			return row.vendor
		}
	}
	return "openai"
}

// setting imports one setting, or reports why it is left out.
func (in *importing) setting(section string, k, v ast.Node) {
	switch name := keyName(k); name {
	case "fallbacks", "context_window_fallbacks", "content_policy_fallbacks":
		if len(items(v)) == 0 {
			in.leave(k, "%s is no list of models and their fallbacks", name)
		} else if name != "fallbacks" {
			in.leave(k, "%s are fallbacks for every failure here, not only for the one in their name", name)
		}
		for _, row := range items(v) {
			for from, to := range configcheck.Members(row) {
				in.fallbacks(from, to)
			}
		}
	case "model_group_alias":
		if len(items(v)) > 0 || configcheck.Scalar(v) != "" {
			in.leave(k, "model_group_alias is no mapping of names to models")
		}
		for name, of := range configcheck.Members(v) {
			in.alias(name, of)
		}
	case "cache":
		switch on, known := truth(v); {
		case !known:
			in.leave(k, "cache is not taken over: it is neither true nor false")
		case on:
			for _, r := range in.routes {
				r.cache = "10m"
			}
			in.leave(k, "cache: answers are given again for 10 minutes, to requests without tools; see cache and cache_tools")
		}
	case "master_key", "database_url", "store_model_in_db":
		in.keys = true
		in.leave(k, "%s is not taken over: 'toolpost keys' makes keys, and keys: in the configuration says where they are kept", name)
	case "num_retries", "allowed_fails", "cooldown_time", "routing_strategy", "enable_pre_call_checks":
		in.leave(k, "%s is not taken over: an upstream is asked again, and the next one when it fails, by rules of the gateway (docs/gateway/operations.md)", name)
	case "drop_params":
		if on, _ := truth(v); !on {
			in.leave(k, "drop_params: what an upstream cannot do is always left out with a warning in a header")
		}
	case "request_timeout", "timeout":
		in.leave(k, "%s is not taken over: limits at the top of the configuration bounds how long an answer may take (limits: {time: 10m, idle: 1m})", name)
	case "success_callback", "failure_callback", "callbacks":
		in.leave(k, "%s is not taken over: the gateway has metrics and a log of requests", name)
	default:
		in.leave(k, "%s of %s is not taken over%s", name, section, liteHints[name])
	}
}

// fallbacks imports the fallbacks of one model.
func (in *importing) fallbacks(from, to ast.Node) {
	name := keyName(from)
	i := slices.IndexFunc(in.routes, func(r *importedRoute) bool { return r.model == name })
	if i < 0 && name == "*" {
		in.leave(from, "fallbacks of * are not taken over: give each route that needs one a fallback of its own")
		return
	}
	if i < 0 {
		in.leave(from, "fallbacks of %s: there is no such model", name)
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
			in.leave(t, "a fallback of %s is no name of a model and is left out", name)
		}
	}
}

// dropBadFallbacks removes fallbacks to missing routes and to the route itself.
func (in *importing) dropBadFallbacks() {
	for _, r := range in.routes {
		if r.aliasOf != nil && r.fallback == nil {
			r.fallback, r.places = slices.Clone(r.aliasOf.fallback), r.aliasOf.places
		}
		if r.aliasOf != nil {
			r.cache = r.aliasOf.cache
		}
		r.fallback = slices.DeleteFunc(r.fallback, func(name string) bool {
			bad := name == r.model || !slices.ContainsFunc(in.routes, func(o *importedRoute) bool { return o.model == name })
			if bad {
				in.leave(r.places[name], "the fallback %s of %s leads to no other model and is left out", name, r.model)
			}
			return bad
		})
	}
}
