package wire

import (
	"io"

	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/messages"
	"github.com/toolpost/toolpost/wire/internal/ollama"
)

// The formats.
const (
	Chat      = names.Chat      // OpenAI Chat Completions and all that copy it
	Responses = names.Responses // OpenAI Responses
	Messages  = names.Messages  // Anthropic Messages
	Gemini    = names.Gemini    // Gemini generateContent
	Ollama    = names.Ollama    // Ollama chat
	Converse  = names.Converse  // Amazon Bedrock Converse
)

// The makers of models whose own fields the converse format carries, in [llm.Request.Extra] and in
// [format.Quirks.ModelFields].
const (
	AnthropicFields = names.AnthropicFields // thinking, top_k
	AmazonFields    = names.AmazonFields    // reasoningConfig, inferenceConfig.topK
	OpenAIFields    = names.OpenAIFields    // reasoning_effort
)

// ReadDocument reads an answer that is one document. An answer beyond the limit is an error of kind [llm.ByteLimit].
func ReadDocument(src io.Reader) ([]byte, error) { return codec.ReadDocument(src) }

// SaysReplaced reports whether a warning says that U+FFFD replaces half of a surrogate pair. A server that passes on the
// bytes it read does not have this loss.
func SaysReplaced(ev llm.Event) bool { return codec.SaysReplaced(ev) }

// OnVertex returns how Google's Vertex AI serves the messages format: the model is in the path, below publishers/anthropic,
// and the version in the body.
func OnVertex() format.Quirks { return messages.OnVertex() }

// OnBedrock returns how Amazon Bedrock serves the messages format with InvokeModel: the model is in the path, the version in
// the body, and a stream comes in frames.
func OnBedrock() format.Quirks { return messages.OnBedrock() }

// OnGenerate returns how Ollama serves /api/generate: one prompt instead of messages.
func OnGenerate() format.Quirks { return ollama.OnGenerate() }
