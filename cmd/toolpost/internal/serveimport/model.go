package serveimport

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// model imports one entry of model_list.
func (in *importer) model(n ast.Node) {
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
			in.skip(k, "%s of a model is not taken over", keyName(k))
		}
	}
	in.models++
	if name == "" || params == nil {
		in.lost++
		in.skip(n, "a model is left out: it has no %s", map[bool]string{true: "model_name", false: "litellm_params"}[name == ""])
		return
	}
	up := upstream{at: n}
	if up.id, up.weight = in.params(params, name, pass); up.id == "" {
		in.lost++ // the reason is already reported
		return
	}
	if pass == "" && strings.Contains(strings.ToLower(up.id), "embed") {
		pass = "embeddings"
	}
	i := slices.IndexFunc(in.routes, func(r *route) bool { return r.model == name })
	if i < 0 {
		i = len(in.routes)
		in.routes = append(in.routes, &route{model: name})
	}
	in.routes[i].to = append(in.routes[i].to, up)
	if pass != "" {
		in.routes[i].pass = pass
	}
}

// mode imports the mode of a model, and reports the rest of model_info.
func (in *importer) mode(key, info ast.Node) (pass string) {
	rest := false
	for k, v := range configcheck.Members(info) {
		if keyName(k) != "mode" {
			rest = true
			continue
		}
		mode := configcheck.Scalar(v)
		if pass = modes[mode]; pass == "" && mode != "chat" && mode != "completion" && mode != "responses" {
			in.skip(v, "the mode %s is not known here; the model is imported as a chat model", mode)
		}
	}
	if rest {
		in.skip(key, "model_info is not taken over: prices and sizes come from the catalogue, see 'toolpost models show'")
	}
	return pass
}

// params imports litellm_params.
func (in *importer) params(n ast.Node, called, pass string) (id, weight string) {
	p := &modelParams{name: called, pass: pass, places: map[string]ast.Node{}}
	for k, v := range configcheck.Members(n) {
		switch name := keyName(k); name {
		case "model":
			p.model = v
		case "api_base", "base_url":
			p.base = v
		case "weight":
			if weight = configcheck.Scalar(v); !decimal.MatchString(weight) {
				weight = ""
				in.skip(k, "weight is not a number of 0 or more, and is left out")
			}
		case "api_key":
			p.key = v
		case "custom_llm_provider":
			p.vendor = v
		case "aws_region_name", "vertex_project", "vertex_location":
			p.places[name] = v
		case "rpm", "tpm", "max_parallel_requests":
			in.skip(k, "%s is not taken over: it is a limit of the vendor's. max_requests of the route bounds requests at the same time, and limits of keys (requests/minute, tokens/minute) what each may use", name)
		default:
			in.skip(k, "%s is not taken over%s", name, hints[name])
		}
	}
	return in.named(p, n), weight
}

// named returns the id of a model by its name. It returns "" and reports the reason if the model is left out.
func (in *importer) named(p *modelParams, at ast.Node) (id string) {
	called := p.name
	switch model := configcheck.Scalar(p.model); {
	case p.model == nil:
		in.skip(at, "a model is left out: its litellm_params have no model")
	case strings.HasPrefix(model, "os.environ/"):
		in.skip(p.model, "a model is left out: its name is to come from a variable of the environment, which is not read for that; write the name itself")
	case nameContainsKey(called) || nameContainsKey(model) || containsKey(configcheck.Scalar(p.vendor)):
		in.skip(at, "a model is left out: its name holds what looks like a key, which is not copied")
	case strings.ContainsAny(model, "?#"):
		in.skip(p.model, "a model is left out: its name has a query or a fragment, which are not copied")
	case model == "*" && called == "*" && p.base == nil && p.vendor == nil && p.key == nil:
		in.skip(p.model, "* is asked for the model that the client names, as VENDOR/MODEL (openai/gpt-4o) in the words of this gateway, or by the name alone where its maker is known (gpt-4o, claude-sonnet-4-5); for other names without a vendor add a route, like llama-* to groq/llama-*")
		id = "*"
	case model == "*" && p.vendor == nil:
		in.skip(p.model, "a model is left out: * is every model of every vendor, and one address, key or name is not good for all; write VENDOR/*")
	default:
		id = in.id(p)
	}
	return id
}

// fromEnv reports the required value of an environment variable. Each variable has one value, so different values of
// other models are lost.
func (in *importer) fromEnv(n ast.Node, setting, value string) {
	variable := placeVariables[setting]
	switch was := in.env[variable]; {
	case value == "" || strings.HasPrefix(value, "os.environ/"):
		in.skipUnset(n, setting)
	case was == "":
		in.env[variable] = value
		in.skip(n, "%s: set %s to %s where the gateway is started", setting, variable, value)
	case was != value:
		in.skip(n, "%s: a second one (%s) is not taken over: the gateway has one, in %s", setting, value, variable)
	}
}

// id returns the id of a model in our syntax, "" if the model is left out. A model with another address or key than the
// vendor's gets an entry in providers.
func (in *importer) id(p *modelParams) string {
	word, name := p.of()
	vendor := vendorCalled(vendorNames[word])
	if vendor.Name == "" {
		in.skip(p.model, "a model is left out: the vendor %s is not known here; write an id for it by hand (docs/reference/vendors.md)", word)
		return ""
	}
	base, ok := in.address(p, vendor.Name)
	if !ok {
		return ""
	}
	row := providerRow{base: base, keyEnv: in.keyOf(p, vendor, base != "")}
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
	if row.base == "" && row.keyEnv == "" {
		return vendor.Name + "/" + name
	}
	if row.keyEnv == "" && !strings.Contains(row.base, "${") { // the format of a vendor at another address
		return addressed(vendor.Name, row.base) + "#" + name
	}
	if row.base == "" || like {
		row.like, row.wire = vendor.Name, ""
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
func (in *importer) bareName(p *modelParams, vendor, name string) (bare, region string) {
	for _, way := range apiPrefixes[vendor] {
		name = strings.TrimPrefix(name, way)
	}
	switch region := awsRegion.FindString(name); {
	case vendor == "bedrock" && region != "":
		return strings.TrimPrefix(name, region), strings.TrimSuffix(region, "/")
	case strings.HasPrefix(vendor, "vertex_ai"):
		in.skip(p.model, "%s on Vertex AI is asked with a key in %s, or Claude with a token in %s; LiteLLM uses a Google account", name, vendorCalled("vertex").KeyEnv, vendorCalled("vertex-claude").KeyEnv)
	case vendor == "gemini" && p.base == nil && !strings.Contains(configcheck.Scalar(p.model), "/"):
		in.skip(p.model, "%s is asked at Gemini's own API, with %s; LiteLLM asks Vertex AI for a name without a vendor", name, vendorCalled("gemini").KeyEnv)
	}
	return name, ""
}

// azureKey is the variable that LiteLLM reads for Azure models without a separate key.
const azureKey = "AZURE_API_KEY"

// keyOf returns the variable that holds the key of a model, "" if it is the vendor's own or there is no key.
func (in *importer) keyOf(p *modelParams, v provider.Vendor, elsewhere bool) string {
	vendor, own := v.Name, v.KeyEnv
	variable, fromVariable := strings.CutPrefix(configcheck.Scalar(p.key), "os.environ/")
	switch {
	case p.key == nil && vendor == "azure" && elsewhere:
		return azureKey
	case p.key == nil:
		return ""
	case fromVariable && !isVariable(variable):
		in.skip(p.key, "api_key is not copied: the part after os.environ/ is not a name of a variable")
		return ""
	case !fromVariable && vendor == "azure" && elsewhere: // each endpoint has separate keys
		variable = in.variableFor(configcheck.Scalar(p.key), p.name, "_API_KEY")
		in.skip(p.key, "api_key is not copied: put the key into %s where the gateway is started", variable)
		return variable
	case !fromVariable && (elsewhere || own == ""):
		in.skip(p.key, "api_key is not copied: this server is asked without a key; put the key into a variable, and add a row under providers with base_url and key_env")
		return ""
	case !fromVariable:
		in.skip(p.key, "api_key is not copied: put the key into %s where the gateway is started", own)
		return ""
	case vendor == "vertex":
		if variable != own {
			in.skip(p.key, "api_key: the gateway reads this vendor's key from %s, not from %s", own, variable)
		}
		return ""
	case !elsewhere && variable == own:
		return ""
	}
	return variable
}

// address returns the address of a model's server, "" for the vendor's own. ok is false if the model is left out, which
// is reported. An address that may hold a key, or that comes from a variable, is replaced by a variable.
func (in *importer) address(p *modelParams, vendor string) (base string, ok bool) {
	at := strings.TrimSuffix(configcheck.Scalar(p.base), "/")
	if variable, is := strings.CutPrefix(at, "os.environ/"); is {
		if !isVariable(variable) {
			in.skip(p.base, "a model is left out: its api_base should come from a variable, and the part after os.environ/ is not a name of one")
			return "", false
		}
		return served("${"+variable+"}", vendor), true
	}
	if p.base == nil || at == "" {
		return "", true
	}
	if vendor == "azure" { // LiteLLM also accepts the address of a deployment
		at = strings.TrimSuffix(azureHost.ReplaceAllString(at, "$1"), "/")
	}
	_, rest, isURL := strings.Cut(at, "://")
	host, path, _ := strings.Cut(rest, "/")
	switch {
	case !isURL || strings.ContainsFunc(at, func(r rune) bool { return r <= ' ' || r == '$' || r == 0x7f }):
		in.skip(p.base, "a model is left out: its api_base is not an address")
		return "", false
	case strings.Contains(host, "@"):
		in.skip(p.base, "a model is left out: its api_base has a user or a password in it, which are not copied: put the key into a variable, and add a row under providers with base_url and key_env")
		return "", false
	case strings.ContainsAny(rest, "?#"):
		in.skip(p.base, "a model is left out: its api_base has a query or a fragment, which are not copied: a key in it belongs into a variable; add a row under providers with base_url and key_env")
		return "", false
	case containsKey(at) || mayContainKey(path):
		variable := in.variableFor(at, p.name, "_BASE_URL")
		in.skip(p.base, "api_base is not copied: its path holds what may be a key; set %s to it where the gateway is started", variable)
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
func (in *importer) variableFor(text, model, end string) string {
	if known := in.notCopied[text]; known != "" {
		return known
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if variableName.MatchString(string(r)) {
			return unicode.ToUpper(r)
		}
		return '_'
	}, model), "_") + end
	if containsKey(model) || name[0] >= '0' && name[0] <= '9' || name[0] == '_' {
		name = "MODEL" + end
	}
	free := name
	for n := 2; slices.Contains(slices.Collect(maps.Values(in.notCopied)), free); n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	in.notCopied[text] = free
	return free
}

// row adds an entry to providers, unless an equal one exists, and returns its name.
func (in *importer) row(row providerRow) string {
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
	called = cmp.Or(strings.Trim(notInNames.ReplaceAllString(strings.ToLower(called), "-"), "-"), "row")
	if rest := strings.TrimPrefix(called, row.like+"-"); row.like != "" && strings.HasPrefix(rest, row.like+"-") {
		called = rest
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(in.rows, func(r providerRow) bool { return r.name == name }) || slices.ContainsFunc(provider.Vendors(), func(v provider.Vendor) bool { return v.Name == name })
	}
	row.name = called
	for n := 2; taken(row.name); n++ {
		row.name = fmt.Sprintf("%s-%d", called, n)
	}
	in.rows = append(in.rows, row)
	return row.name
}

// keyForm matches the common prefix of many vendors' keys, followed by any characters.
var keyForm = regexp.MustCompile(`(?i)(^|[^0-9a-z])sk-[0-9a-z_-]{12,}`)

// containsKey reports whether a text contains a secret of a known form.
func containsKey(text string) bool {
	return secret.HasForm(text) || keyForm.MatchString(text)
}

// keyInName matches a word for a key in the name of a model, with its value.
var keyInName = regexp.MustCompile(`(?i)(^|[^a-z])(api[-_]?key|key|token|secret|password)=[^\s]*`)

// nameContainsKey reports whether the name of a model contains a key: either a known form, or a value labelled as a key.
func nameContainsKey(name string) bool { return containsKey(name) || keyInName.MatchString(name) }

// In the path of an address: words before a key, and random-looking parts. Version numbers and names of models match
// neither.
var (
	keyWord    = regexp.MustCompile(`(?i)(^|[^a-z])(api[-_]?key|key|token|secret|password)[=:/]`)
	randomPart = regexp.MustCompile(`[0-9A-Za-z]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
)

// longWord is the maximum length of a real word.
const longWord = 23

// mayContainKey reports whether a path may contain a key: text after a word for a key, or random letters and digits. It
// prefers false positives, which only cost an extra variable.
func mayContainKey(path string) bool {
	if containsKey(path) || keyWord.MatchString(path) {
		return true
	}
	return slices.ContainsFunc(randomPart.FindAllString(path, -1), func(piece string) bool {
		return len(piece) > longWord || strings.ContainsAny(piece, "0123456789")
	})
}

// isVariable reports whether a text can be the name of a variable. A name that looks like a key is refused.
func isVariable(name string) bool { return variableName.MatchString(name) && !containsKey(name) }

// variableName matches the names of environment variables.
var variableName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
