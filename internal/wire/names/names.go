// Package names holds the names of formats and of groups of fields, which package wire exports.
package names

// The formats.
const (
	Chat      = "chat"      // OpenAI Chat Completions and all that copy it
	Responses = "responses" // OpenAI Responses
	Messages  = "messages"  // Anthropic Messages
	Gemini    = "gemini"    // Gemini generateContent
	Ollama    = "ollama"    // Ollama chat
	Converse  = "converse"  // Amazon Bedrock Converse
)

// The makers of models whose own fields the converse format carries; see
// [format.Quirks.ModelFields].
const (
	AnthropicFields = "anthropic" // thinking, top_k
	AmazonFields    = "amazon"    // reasoningConfig, inferenceConfig.topK
	OpenAIFields    = "openai"    // reasoning_effort
)

// ModelMark is the placeholder for the model's name in a path.
const ModelMark = "{model}"
