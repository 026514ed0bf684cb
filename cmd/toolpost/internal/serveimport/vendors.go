package serveimport

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/provider"
)

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
