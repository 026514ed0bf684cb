package wire

import (
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/messages"
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

// OnVertex returns how Google's Vertex AI serves the messages format: the model is in the path, below publishers/anthropic,
// and the version in the body.
func OnVertex() format.Quirks { return messages.OnVertex() }

// OnBedrock returns how Amazon Bedrock serves the messages format with InvokeModel: the model is in the path, the version in
// the body, and a stream comes in frames.
func OnBedrock() format.Quirks { return messages.OnBedrock() }
