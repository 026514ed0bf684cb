package format

// FreeInput is the argument that holds the text of a free-text tool in formats
// that have functions only.
const FreeInput = "input"

// The formats.
const (
	Chat      = "chat"      // OpenAI Chat Completions and all that copy it
	Responses = "responses" // OpenAI Responses
	Messages  = "messages"  // Anthropic Messages
	Gemini    = "gemini"    // Gemini generateContent
	Ollama    = "ollama"    // Ollama chat
	Converse  = "converse"  // Amazon Bedrock Converse
)
