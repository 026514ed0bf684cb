package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/wire"
)

// newServeImport makes the configuration of a gateway from that of LiteLLM's proxy.
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
			text, err := readFile(args[0], maxConfig)
			if err != nil {
				return err
			}
			in, err := importLiteLLM(text)
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

// leftover is something that was not taken over, and where it stands.
type leftover struct {
	line int
	text string
}

// liteVendors are LiteLLM's words for vendors, in ours, with the variable that holds the key.
var liteVendors = map[string]struct{ name, key string }{
	"openai": {"openai", "OPENAI_API_KEY"}, "anthropic": {"anthropic", "ANTHROPIC_API_KEY"}, "gemini": {"gemini", "GEMINI_API_KEY"},
	"groq": {"groq", "GROQ_API_KEY"}, "mistral": {"mistral", "MISTRAL_API_KEY"}, "deepseek": {"deepseek", "DEEPSEEK_API_KEY"},
	"together_ai": {"together", "TOGETHER_API_KEY"}, "fireworks_ai": {"fireworks", "FIREWORKS_API_KEY"}, "openrouter": {"openrouter", "OPENROUTER_API_KEY"},
	"xai": {"xai", "XAI_API_KEY"}, "cerebras": {"cerebras", "CEREBRAS_API_KEY"}, "bedrock": {"bedrock", "AWS_BEARER_TOKEN_BEDROCK"},
	"ollama": {"ollama", ""}, "ollama_chat": {"ollama", ""}, "hosted_vllm": {"vllm", ""}, "vllm": {"vllm", ""}, "lm_studio": {"lmstudio", ""},
	"llamafile": {"openai-compatible", ""}, "text-completion-openai": {"", ""}, "azure": {"azure", "AZURE_OPENAI_API_KEY"},
	"cohere": {"cohere", "COHERE_API_KEY"}, "cohere_chat": {"cohere", "COHERE_API_KEY"}, "perplexity": {"perplexity", "PERPLEXITY_API_KEY"},
	"deepinfra": {"deepinfra", "DEEPINFRA_API_KEY"}, "moonshot": {"moonshot", "MOONSHOT_API_KEY"}, "nvidia_nim": {"nvidia", "NVIDIA_API_KEY"}, "huggingface": {"huggingface", "HF_TOKEN"},
}

// liteBare are the vendors of names without one, by what these begin with. All others are OpenAI's.
var liteBare = []struct{ begin, vendor string }{{"claude", "anthropic"}, {"gemini", "gemini"}, {"command", "cohere"}, {"rerank", "cohere"}, {"embed-", "cohere"}}

// liteModes are LiteLLM's words for what is no chat model, and the endpoints that are passed on for it.
var liteModes = map[string]string{
	"embedding": "embeddings", "image_generation": "images", "audio_transcription": "audio", "audio_speech": "audio", "moderation": "moderations", "rerank": "rerank",
}

// importing is one file that is taken over.
type importing struct {
	routes   []*importedRoute
	settings map[string]string
	left     []leftover
	azure    string // the endpoint of models on Azure
	region   string // of models on Bedrock

	models, lost int // entries of model_list, and those that are left out
	rows         []importedRow
	keys         bool // clients had keys
}

// importedRow is a row of providers.
type importedRow struct{ name, like, base, wire, keyEnv string }

type importedRoute struct {
	model    string
	to       []importedUpstream
	fallback []string
	cache    string
	pass     string // endpoints that are passed on
	places   map[string]ast.Node
	aliasOf  *importedRoute
}

type importedUpstream struct {
	id     string
	weight string
}

func (in *importing) leave(n ast.Node, format string, args ...any) {
	line := 1
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		line = n.GetToken().Position.Line
	}
	in.left = append(in.left, leftover{line, fmt.Sprintf(format, args...)})
}

// importLiteLLM reads a configuration of LiteLLM's proxy.
func importLiteLLM(text []byte) (*importing, error) {
	if err := yamlcheck.Check(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("it is no YAML: %s", yaml.FormatError(err, false, false))
	}
	in := &importing{settings: map[string]string{}}
	found := false
	for _, models := range []bool{true, false} { // settings are about models, wherever they stand
		for _, doc := range file.Docs {
			for key, value := range members(doc.Body) {
				is := key.String() == "model_list"
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
	case len(in.routes) == 0:
		var why []string
		for _, l := range in.left {
			why = append(why, fmt.Sprintf("line %d: %s", l.line, l.text))
		}
		return nil, fmt.Errorf("none of its %d models can be taken over: %s", in.models, strings.Join(why, "; "))
	}
	in.dropBadFallbacks()
	slices.SortStableFunc(in.left, func(a, b leftover) int { return a.line - b.line })
	return in, nil
}

// summary says in one line what became of the file.
func (in *importing) summary() string {
	text := fmt.Sprintf("%d of %d models are taken over, in %d routes", in.models-in.lost, in.models, len(in.routes))
	if in.lost > 0 {
		text += fmt.Sprintf("; %d models are left out", in.lost)
	}
	if len(in.left) > 0 {
		text += fmt.Sprintf("; %d lines above say what is not as it was", len(in.left))
	}
	if in.keys {
		text += "; nobody needs a key until you set keys"
	}
	return text + ". Next: toolpost serve --check"
}

// members are the keys and values of a mapping.
func members(n ast.Node) func(func(ast.Node, ast.Node) bool) {
	return func(yield func(ast.Node, ast.Node) bool) {
		switch n := n.(type) {
		case *ast.MappingNode:
			for _, v := range n.Values {
				if !yield(v.Key, v.Value) {
					return
				}
			}
		case *ast.MappingValueNode:
			yield(n.Key, n.Value)
		}
	}
}

// scalar is the text of a value, "" if it is a list or a mapping.
func scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return ""
}

func items(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return nil
}

// section takes one part of the file over.
func (in *importing) section(key, value ast.Node) {
	switch name := key.String(); name {
	case "model_list":
		for _, m := range items(value) {
			in.model(m)
		}
	case "router_settings", "litellm_settings", "general_settings":
		for k, v := range members(value) {
			in.setting(name, k, v)
		}
	case "environment_variables":
		in.leave(key, "environment_variables is not taken over: set the variables of vendors' keys where the gateway is started")
	default:
		in.leave(key, "%s is not taken over", name)
	}
}

// model takes one entry of model_list over.
func (in *importing) model(n ast.Node) {
	var name, pass string
	var params ast.Node
	for k, v := range members(n) {
		switch k.String() {
		case "model_name":
			name = scalar(v)
		case "litellm_params":
			params = v
		case "model_info":
			pass = in.mode(k, v)
		default:
			in.leave(k, "%s of a model is not taken over", k.String())
		}
	}
	in.models++
	if name == "" || params == nil {
		in.lost++
		in.leave(n, "a model is left out: it has no %s", map[bool]string{true: "model_name", false: "litellm_params"}[name == ""])
		return
	}
	up := importedUpstream{}
	if up.id, up.weight = in.params(params, pass); up.id == "" {
		in.lost++ // it was said why
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

// mode takes over what kind of model one is, and says what else model_info has.
func (in *importing) mode(key, info ast.Node) (pass string) {
	rest := false
	for k, v := range members(info) {
		if k.String() != "mode" {
			rest = true
			continue
		}
		mode := scalar(v)
		if pass = liteModes[mode]; pass == "" && mode != "chat" && mode != "completion" && mode != "responses" {
			in.leave(v, "the mode %s is not known here; the model is taken for one that chats", mode)
		}
	}
	if rest {
		in.leave(key, "model_info is not taken over: prices and sizes come from the catalogue, see 'toolpost models show'")
	}
	return pass
}

// params takes litellm_params over.
func (in *importing) params(n ast.Node, pass string) (id, weight string) {
	var model, base, key ast.Node
	for k, v := range members(n) {
		switch name := k.String(); name {
		case "model":
			model = v
		case "api_base":
			base = v
		case "weight":
			if n, err := strconv.Atoi(scalar(v)); err == nil && n >= 0 {
				weight = strconv.Itoa(n)
			} else {
				in.leave(k, "weight is no whole number and is left out")
			}
		case "api_key":
			key = v
		case "aws_region_name":
			in.onAmazon(k, scalar(v))
		case "rpm", "tpm", "max_parallel_requests":
			in.leave(k, "%s is not taken over: it is a limit of the vendor's. max_requests of the route bounds requests at the same time, and limits of keys (requests/minute, tokens/minute) what each may use", name)
		default:
			in.leave(k, "%s is not taken over", name)
		}
	}
	if model == nil {
		in.leave(n, "a model is left out: its litellm_params have no model")
		return "", weight
	}
	if id = in.id(model, base); id != "" {
		id = in.keyed(id, model, base, key, pass)
	}
	return id, weight
}

// onAmazon says which region the models on Bedrock need. It comes from the environment, so there is one.
func (in *importing) onAmazon(n ast.Node, region string) {
	switch {
	case region == "" || strings.HasPrefix(region, "os.environ/"):
		in.leave(n, "aws_region_name: set AWS_REGION where the gateway is started")
	case in.region == "":
		in.region = region
		in.leave(n, "aws_region_name: set AWS_REGION to %s where the gateway is started", region)
	case in.region != region:
		in.leave(n, "aws_region_name: a second region (%s) is not taken over: the gateway has one, in AWS_REGION", region)
	}
}

// keyed has a model asked with its key: where that is not in the variable of its vendor, through a row of providers.
func (in *importing) keyed(id string, model, base, key ast.Node, pass string) string {
	ours := liteVendors[vendorOf(model)]
	variable, isVariable := strings.CutPrefix(scalar(key), "os.environ/")
	if !isVariable {
		variable = ""
	}
	_, name, _ := strings.Cut(id, "/")
	row := importedRow{like: ours.name, keyEnv: variable}
	if at, rest, own := strings.Cut(id, "#"); own {
		row, name = importedRow{base: at[max(strings.Index(at, "+")+1, 0):], wire: wire.Chat, keyEnv: variable}, rest
		if ours.name == "ollama" {
			row.wire = wire.Ollama
		}
	} else if ours.name == "cohere" && pass == "rerank" { // its other endpoints are elsewhere
		if key != nil && !isVariable {
			in.leave(key, "api_key is not copied: put the key into %s where the gateway is started", ours.key)
		}
		return in.row(importedRow{base: "https://api.cohere.com/v2", wire: wire.Chat, keyEnv: cmp.Or(variable, ours.key)}) + "/" + name
	}
	switch {
	case key == nil:
		return id
	case !isVariable && row.base != "":
		in.leave(key, "api_key is not copied: this server is asked without a key; put the key into a variable, and add a row under providers with base_url and key_env")
		return id
	case !isVariable:
		in.leave(key, "api_key is not copied: put the key into %s where the gateway is started", ours.key)
		return id
	case row.base == "" && variable == ours.key, ours.name == "azure", ours.name == "bedrock":
		if variable != ours.key {
			in.leave(key, "api_key: the gateway reads this vendor's key from %s, not from %s", ours.key, variable)
		}
		return id
	}
	return in.row(row) + "/" + name
}

// row returns the name of a row of providers, which is written once.
func (in *importing) row(row importedRow) string {
	for _, r := range in.rows {
		if row.name = r.name; row == r {
			return r.name
		}
	}
	row.name = strings.Trim(strings.ReplaceAll(strings.ToLower(row.keyEnv), "_", "-"), "-")
	for _, taken := liteVendors[row.name]; taken || slices.ContainsFunc(in.rows, func(r importedRow) bool { return r.name == row.name }); taken = false {
		row.name += "-2"
	}
	in.rows = append(in.rows, row)
	return row.name
}

// alias takes another name of a model over.
func (in *importing) alias(name, of ast.Node) {
	target := scalar(of)
	for _, r := range in.routes {
		if r.model == target {
			in.routes = append(in.routes, &importedRoute{model: strings.Trim(name.String(), `"'`), to: r.to, pass: r.pass, aliasOf: r})
			return
		}
	}
	in.leave(name, "the alias %s is left out: there is no model %s", name.String(), target)
}

// vendorOf is LiteLLM's word for the vendor of a model.
func vendorOf(model ast.Node) string {
	vendor, _, ok := strings.Cut(scalar(model), "/")
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

// id is the id of a model in our words, "" if there is none.
func (in *importing) id(model, base ast.Node) string {
	word := vendorOf(model)
	name := strings.TrimPrefix(scalar(model), word+"/")
	ours, known := liteVendors[word]
	at := scalar(base)
	switch {
	case at != "" && strings.HasPrefix(at, "os.environ/"):
		in.leave(base, "a model is left out: its api_base comes from a variable; add a row under providers with base_url: ${%s}", strings.TrimPrefix(at, "os.environ/"))
		return ""
	case !known || ours.name == "":
		in.leave(model, "a model is left out: the vendor %s is not known here; write an id for it by hand (docs/providers.md)", word)
		return ""
	case at == "":
		if word == "gemini" && !strings.Contains(scalar(model), "/") {
			in.leave(model, "%s is asked at Gemini's own API, with GEMINI_API_KEY; LiteLLM asks Vertex AI for a name without a vendor", name)
		}
		return ours.name + "/" + name
	}
	scheme, rest, ok := strings.Cut(strings.TrimSuffix(at, "/"), "://")
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case !ok:
		in.leave(base, "a model is left out: its api_base is no address")
		return ""
	case strings.Contains(host, "@"):
		in.leave(base, "a model is left out: its api_base has a user or a password in it, which are not copied: put the key into a variable, and add a row under providers with base_url and key_env")
		return ""
	case strings.ContainsAny(rest, "?#"):
		in.leave(base, "a model is left out: its api_base has a query or a fragment, which are not copied: a key in it belongs into a variable; add a row under providers with base_url and key_env")
		return ""
	case ours.name == "azure":
		return in.onAzure(base, scheme+"://"+host, name)
	}
	vendor := ours.name + "+"
	if ours.name == "openai" || ours.name == "openai-compatible" {
		vendor = ""
	}
	if ours.name == "ollama" && !strings.HasSuffix(rest, "/api") {
		rest += "/api"
	}
	return vendor + scheme + "://" + rest + "#" + name
}

// onAzure is the id of a deployment on Azure. The endpoint comes from the environment, so there is one.
func (in *importing) onAzure(base ast.Node, endpoint, name string) string {
	if in.azure != "" && in.azure != endpoint {
		in.leave(base, "a model is left out: a second endpoint on Azure is not taken over: the gateway has one, in AZURE_OPENAI_ENDPOINT")
		return ""
	}
	if in.azure == "" {
		in.leave(base, "api_base: set AZURE_OPENAI_ENDPOINT to %s where the gateway is started", endpoint)
	}
	in.azure = endpoint
	return "azure/" + name
}

// setting takes one setting over, or says why not.
func (in *importing) setting(section string, k, v ast.Node) {
	switch name := k.String(); name {
	case "fallbacks", "context_window_fallbacks", "content_policy_fallbacks":
		if len(items(v)) == 0 {
			in.leave(k, "%s is no list of models and their fallbacks", name)
		}
		for _, row := range items(v) {
			for from, to := range members(row) {
				in.fallbacks(from, to)
			}
		}
	case "model_group_alias":
		for name, of := range members(v) {
			in.alias(name, of)
		}
	case "cache":
		if scalar(v) == "true" {
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
		if scalar(v) != "true" {
			in.leave(k, "drop_params: what an upstream cannot do is always left out with a warning in a header")
		}
	case "request_timeout", "timeout":
		in.leave(k, "%s is not taken over: limits at the top of the configuration bounds how long an answer may take (limits: {time: 10m, idle: 1m})", name)
	case "success_callback", "failure_callback", "callbacks":
		in.leave(k, "%s is not taken over: the gateway has metrics and a log of requests", name)
	default:
		in.leave(k, "%s of %s is not taken over", name, section)
	}
}

// fallbacks takes the fallbacks of one model over.
func (in *importing) fallbacks(from, to ast.Node) {
	name := strings.Trim(from.String(), `"'`)
	i := slices.IndexFunc(in.routes, func(r *importedRoute) bool { return r.model == name })
	if i < 0 {
		in.leave(from, "fallbacks of %s: there is no such model", name)
		return
	}
	for _, t := range items(to) {
		if other := scalar(t); other != "" && !slices.Contains(in.routes[i].fallback, other) {
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

// dropBadFallbacks leaves fallbacks out that lead nowhere.
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

// write writes the configuration.
func (in *importing) write() string {
	var b strings.Builder
	if len(in.rows) > 0 {
		b.WriteString("providers:\n")
	}
	for _, row := range in.rows {
		fmt.Fprintf(&b, "  %s: {", yamlText(row.name))
		if row.like != "" {
			fmt.Fprintf(&b, "like: %s", yamlText(row.like))
		} else {
			fmt.Fprintf(&b, "base_url: %s, wire: %s", yamlText(row.base), row.wire)
		}
		fmt.Fprintf(&b, ", key_env: %s}\n", yamlText(row.keyEnv))
	}
	b.WriteString("gateway:\n")
	if in.keys {
		b.WriteString("  # keys: sqlite:keys.db   # without it nobody needs a key; make them with 'toolpost keys create'\n")
	}
	b.WriteString("  routes:\n")
	for _, r := range in.routes {
		fmt.Fprintf(&b, "    - model: %s\n      to:\n", yamlText(r.model))
		for _, u := range r.to {
			fmt.Fprintf(&b, "        - {model: %s", yamlText(u.id))
			if u.weight != "" {
				fmt.Fprintf(&b, ", weight: %s", u.weight)
			}
			b.WriteString("}\n")
		}
		if len(r.fallback) > 0 {
			var list []string
			for _, f := range r.fallback {
				list = append(list, yamlText(f))
			}
			fmt.Fprintf(&b, "      fallback: [%s]\n", strings.Join(list, ", "))
		}
		if r.pass != "" {
			fmt.Fprintf(&b, "      pass: [%s]\n", r.pass)
		}
		if r.cache != "" {
			fmt.Fprintf(&b, "      cache: %s\n", r.cache)
		}
	}
	return b.String()
}

// yamlText is a text as a value of YAML.
func yamlText(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./", r))
	}) < 0 && s[0] >= 'a' && s[0] <= 'z' {
		return s
	}
	return fmt.Sprintf("%q", s)
}
