package provider

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/credential"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// Vendor is who serves models: one row of a table.
type Vendor struct {
	Name string
	// BaseURL is the root of the API's version. ${NAME} is replaced by an environment
	// variable.
	BaseURL string
	// BaseEnv is a variable that may hold another root, for servers that a
	// user runs. A vendor with a key has none: see Client.Key.
	BaseEnv string
	// Wires are the formats it speaks, its own first. The catalogue chooses
	// among them for each model.
	Wires []string
	// KeyEnv is the variable that holds the key. Empty means that none is
	// needed.
	KeyEnv string
	// KeyHeader is the header that carries the key; empty means a bearer
	// token.
	KeyHeader string
	// KeyOptional is set if the vendor also answers without a key.
	KeyOptional bool
	// Sign is the service of Amazon's for which requests are signed where the
	// key is an access key and its secret instead of a token.
	Sign string
	// Headers go with every request.
	Headers map[string]string
	Quirks  format.Quirks
	// Families are the quirks of families that it serves in another way than
	// the rest.
	Families map[string]format.Quirks
	// Schemas is whose rules for schemas it has; empty means OpenAI's.
	Schemas schema.Vendor
	// Strict is set if the vendor can hold models to the schemas of tools.
	Strict bool
	// MaxStrict limits the strict tools in one request, and MaxOptional their optional
	// parameters; 0 means no limit.
	MaxStrict, MaxOptional int
	// Both is set if the vendor can hold the answer to a schema while tools are
	// offered.
	Both bool
	// NoNone is set if the vendor does not reliably honour a choice that forbids
	// calls. Tools are then withheld.
	NoNone bool
	// NoAllowed is set if a request cannot restrict the vendor to some of the offered
	// tools. The others are then withheld.
	NoAllowed bool
	// Promotion is which text of a native answer may become a call. Empty
	// means marked: hosts and engines leave calls in the text now and then.
	// Off is for vendors whose native calls are reliable.
	Promotion llm.Promotion
	// Hosts is set if the vendor runs tools itself that its format can express, like a
	// web search.
	Hosts bool
	// Apart is set if the vendor keeps text apart from the control tokens of its
	// models. A server that puts text into a chat template does not: its requests have
	// the tokens neutralised.
	Apart bool
	// bounds are what it refuses although it only copies a format.
	bounds format.RequestBounds
	// beside are the fields, in JSON, with which the vendor accepts hosted tools
	// together with functions.
	beside map[string]string
	// Fields are its own names for options that its format lacks or calls
	// otherwise: "seed" and "top_k" of Options. Options are those it handles
	// in another way than its format.
	Fields  map[string]string
	Options map[string]Handling
	// Signers maps families to the vendor that signs their thinking. A signature from
	// one host of that vendor is valid at the others.
	Signers map[string]string
	// Rows are the families that it serves as another row says.
	Rows map[string]string
	// Refuse are the families it serves in ways that a plain request with a
	// key cannot use, and why.
	Refuse map[string]string

	// Like names the row of the table that it is another account of: all is as
	// there but the key, and what else it says itself.
	Like string
	// Vars replace environment variables in the BaseURL of the row that this row is
	// like, or changes: AWS_REGION for another region. A value may be ${NAME}, which
	// is read from the environment. A row whose Vars name the host loses the vendor's
	// key unless the row also names a key.
	Vars map[string]string

	// server is the row of the server at the address of a user's row, if the name of
	// the user's row is not known.
	server string
	// moved says that the address is not the one its key was made for.
	moved bool
}

// compatible is the row of an address without a vendor.
const compatible = "openai-compatible"

// local is a server on the user's own machine.
func local(name, base, env string) Vendor {
	return Vendor{Name: name, BaseURL: base, BaseEnv: env, Wires: []string{wire.Chat}, Quirks: older, NoNone: true, NoAllowed: true, Fields: topK}.taking("")
}

// taking sets the members of requests of other formats that a vendor takes although it only copies the format: those
// that its documentation names, and how closely an image is looked at, which came with images.
func (v Vendor) taking(members string) Vendor {
	v.Quirks.Members = strings.TrimSpace("detail " + members)
	return v
}

// typed is a vendor that wants what the assistant said with its type.
func typed(v Vendor) Vendor {
	v.Quirks.TypedMessages = true
	return v
}

// like is a vendor that copies OpenAI's chat API.
func like(name, base, key string, quirks format.Quirks) Vendor {
	return Vendor{Name: name, BaseURL: base, Wires: []string{wire.Chat}, KeyEnv: key, Quirks: quirks, NoAllowed: true}.taking("")
}

// apart is a vendor whose own API keeps text and control tokens apart.
func apart(v Vendor) Vendor {
	v.Apart = true
	return v
}

// reliable is a vendor that leaves no calls in the text.
func reliable(v Vendor) Vendor {
	v.Promotion = llm.PromoteOff
	return v
}

// with sets what a vendor calls or handles otherwise.
func (v Vendor) with(fields map[string]string, options map[string]Handling) Vendor {
	v.Fields, v.Options = fields, options
	return v
}

// refusing is a vendor that refuses some of what others who copy its format take.
func refusing(v Vendor, b format.RequestBounds) Vendor {
	v.bounds = b
	return v
}

// thoughtMembers are members of messages, read from answers of other hosts, that strict hosts refuse in a request.
const thoughtMembers = "reasoning_content reasoning_details refusal annotations audio images metadata"

// textOnly is for hosts that take no media.
var textOnly = format.MediaTypes{llm.Image: nil, llm.Audio: nil, llm.Video: nil, llm.Document: {format.AnyText}}

// mistralBounds are the members that Mistral's API refuses. A message of the model at the end needs a mark.
var mistralBounds = format.RequestBounds{Prefix: "prefix", RefusesInMessages: thoughtMembers + " reasoning name function_call",
	Refuses: "audio function_call functions logit_bias logprobs max_completion_tokens modalities prompt_cache_retention safety_identifier seed service_tier store stream_options top_logprobs user verbosity web_search_options"}

// noPenalties is for vendors that refuse penalties or do nothing about them.
var noPenalties = map[string]Handling{"frequency_penalty": Ignored, "presence_penalty": Ignored}

// older is for copies of the first version of the API: another name for the token
// limit, and no strict tools.
var older = format.Quirks{MaxTokens: "max_tokens", NoStrict: true}

// topK is for servers that accept the option in addition to those of the format.
var topK = map[string]string{"top_k": "top_k"}

// claudeSigns is for clouds that serve Claude, whose signatures are Anthropic's.
var claudeSigns = map[string]string{"claude": "anthropic"}

const amazonOnly = "is served in Amazon's own format: see bedrock/"

// builtin is the table of vendors.
var builtin = []Vendor{
	{Name: "openai", Hosts: true, Apart: true, Promotion: llm.PromoteOff, BaseURL: "https://api.openai.com/v1", Wires: []string{wire.Chat, wire.Responses}, KeyEnv: "OPENAI_API_KEY", Strict: true, Both: true},
	{Name: "anthropic", Hosts: true, Apart: true, Promotion: llm.PromoteOff, BaseURL: "https://api.anthropic.com/v1", Wires: []string{wire.Messages}, KeyEnv: "ANTHROPIC_API_KEY", KeyHeader: "X-Api-Key",
		Headers: map[string]string{"Anthropic-Version": "2023-06-01"}, Schemas: schema.Anthropic, Strict: true, MaxStrict: 20, MaxOptional: 24, Both: true},
	{Name: "gemini", Hosts: true, Apart: true, Promotion: llm.PromoteOff, BaseURL: "https://generativelanguage.googleapis.com/v1beta", Wires: []string{wire.Gemini}, KeyEnv: "GEMINI_API_KEY", KeyHeader: "X-Goog-Api-Key", Schemas: schema.Gemini,
		beside: map[string]string{"toolConfig": `{"includeServerSideToolInvocations":true}`}},
	{Name: "ollama", BaseURL: "http://127.0.0.1:11434/api", BaseEnv: "OLLAMA_HOST", Wires: []string{wire.Ollama}, Schemas: schema.Ollama},
	{Name: "ollama-cloud", BaseURL: "https://ollama.com/api", Wires: []string{wire.Ollama}, KeyEnv: "OLLAMA_API_KEY", Schemas: schema.Ollama},
	like("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", older).with(topK, nil).taking("user verbosity logprobs cache_control"),
	refusing(like("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", format.Quirks{NoStrict: true}), format.RequestBounds{SaysJSON: true, MaxStops: 4, RefusesInMessages: thoughtMembers + " reasoning"}).with(nil, noPenalties).taking("user"),
	like("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", older).with(topK, nil),
	like("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", older).with(topK, nil).taking("user"),
	apart(refusing(like("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", format.Quirks{MaxTokens: "max_tokens", NoStrict: true, NoParallel: true, Thinking: "reasoning_content", ThinkingForCalls: true}), format.RequestBounds{SaysJSON: true, MaxStops: 16, Media: textOnly})).taking("logprobs"),
	apart(reliable(refusing(like("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", format.Quirks{MaxTokens: "max_tokens", NoStrict: true, NoStreamUsage: true, ThinkingParts: true}), mistralBounds))).with(map[string]string{"seed": "random_seed"}, nil),
	apart(reliable(refusing(like("xai", "https://api.x.ai/v1", "XAI_API_KEY", format.Quirks{NoStrict: true, EmptyText: true}), format.RequestBounds{Media: format.MediaTypes{llm.Image: {"image/jpeg", "image/png"}}}))).with(nil, map[string]Handling{"frequency_penalty": Ignored, "presence_penalty": Ignored, "stop": Ignored}).taking("user logprobs"),
	apart(reliable(like("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY", format.Quirks{MaxTokens: "max_tokens", NoStrict: true, NoParallel: true}))),
	refusing(like("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", format.Quirks{NoStrict: true}), format.RequestBounds{RefusesInMessages: thoughtMembers}).with(nil, noPenalties).taking("user logprobs"),
	apart(like("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY", older)).with(topK, nil),
	like("deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY", older).with(topK, nil),
	like("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", older),
	apart(like("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", format.Quirks{MaxTokens: "max_tokens", NoStrict: true, NoParallel: true, Thinking: "reasoning_content", ThinkingForCalls: true})),
	like("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY", older),
	local("vllm", "http://127.0.0.1:8000/v1", "").taking("user logprobs"),
	local("sglang", "http://127.0.0.1:30000/v1", "").taking("user logprobs"),
	typed(local("llamacpp", "http://127.0.0.1:8080/v1", "")).taking("logprobs"),
	local("lmstudio", "http://127.0.0.1:1234/v1", ""),
	{Name: "azure", Hosts: true, Apart: true, Promotion: llm.PromoteOff, BaseURL: "${AZURE_OPENAI_ENDPOINT}/openai/v1", Wires: []string{wire.Chat, wire.Responses}, KeyEnv: "AZURE_OPENAI_API_KEY", KeyHeader: "Api-Key", Strict: true, Both: true},
	{Name: "vertex", Hosts: true, Apart: true, Promotion: llm.PromoteOff, BaseURL: "https://aiplatform.googleapis.com/v1/publishers/google", Wires: []string{wire.Gemini}, KeyEnv: "VERTEX_API_KEY", KeyHeader: "X-Goog-Api-Key", Schemas: schema.Gemini,
		Rows: map[string]string{"claude": "vertex-claude"}, Refuse: map[string]string{"llama": "is served to Google accounts only, with tokens that expire"}},
	{Name: "vertex-claude", Hosts: true, Apart: true, Promotion: llm.PromoteOff, BaseURL: "https://${GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com/v1/projects/${GOOGLE_CLOUD_PROJECT}/locations/${GOOGLE_CLOUD_LOCATION}/publishers/anthropic",
		Wires: []string{wire.Messages}, KeyEnv: "GOOGLE_OAUTH_ACCESS_TOKEN", Quirks: wire.OnVertex(), Signers: claudeSigns, Schemas: schema.Anthropic, Options: map[string]Handling{"output": Degraded}},
	{Name: "bedrock", Apart: true, BaseURL: "https://bedrock-runtime.${AWS_REGION}.amazonaws.com", Wires: []string{wire.Converse}, KeyEnv: credential.AWSBearer, Sign: "bedrock", Signers: claudeSigns, Schemas: schema.Anthropic,
		Families: map[string]format.Quirks{"claude": {ModelFields: names.AnthropicFields}, "nova": {ModelFields: names.AmazonFields}, "gpt-oss": {ModelFields: names.OpenAIFields}}},
	{Name: "bedrock-claude", Apart: true, Promotion: llm.PromoteOff, BaseURL: "https://bedrock-runtime.${AWS_REGION}.amazonaws.com", Wires: []string{wire.Messages}, KeyEnv: credential.AWSBearer, Sign: "bedrock",
		Quirks: wire.OnBedrock(), Signers: claudeSigns, Schemas: schema.Anthropic, Options: map[string]Handling{"output": Degraded}},
	Vendor{Name: "bedrock-openai", Apart: true, BaseURL: "https://bedrock-runtime.${AWS_REGION}.amazonaws.com/openai/v1", Wires: []string{wire.Chat}, KeyEnv: credential.AWSBearer, Sign: "bedrock", Quirks: older, NoAllowed: true,
		Refuse: map[string]string{"claude": amazonOnly, "nova": amazonOnly, "titan": amazonOnly}}.taking(""),
	Vendor{Name: compatible, Wires: []string{wire.Chat}, Quirks: older, NoNone: true, NoAllowed: true}.taking(""),
}

// KeyVars returns the variables of the environment that may hold the vendor's
// key, or parts of it.
func (v Vendor) KeyVars() []string {
	switch {
	case v.KeyEnv == "":
		return nil
	case v.Sign != "":
		return []string{v.KeyEnv, credential.AWSID, credential.AWSSecret, credential.AWSSession}
	}
	return []string{v.KeyEnv}
}

// Vendors returns the table of vendors, in its own order.
func Vendors() []Vendor { return slices.Clone(builtin) }

// aliases are other names of vendors.
var aliases = map[string]string{
	"google": "gemini", "llama.cpp": "llamacpp", "lm-studio": "lmstudio", "x-ai": "xai", "together-ai": "together",
	"fireworks-ai": "fireworks", "mistralai": "mistral", "vertex-ai": "vertex", "amazon-bedrock": "bedrock", "hf": "huggingface",
}

// makers maps families to the vendor that makes them.
var makers = map[string]string{
	"gpt": "openai", "o-series": "openai", "claude": "anthropic", "gemini": "gemini", "grok": "xai",
	"mistral": "mistral", "deepseek": "deepseek", "command": "cohere", "kimi": "moonshot",
}

// Handling is what becomes of an option of a request.
type Handling byte

// The ways to handle an option. None of them is silent: all but the first
// come with a warning or an error.
const (
	Mapped   Handling = 'm' // the vendor has it
	Degraded Handling = 'd' // done in a weaker way, or by us
	Ignored  Handling = 'i' // not done
	Refused  Handling = 'r' // the request is refused
)

// String returns the handling in one word.
func (h Handling) String() string {
	return map[Handling]string{Mapped: "mapped", Degraded: "degraded", Ignored: "ignored", Refused: "refused"}[h]
}
