package wire

import (
	"io"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/history"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/loss"
	"github.com/toolpost/toolpost/wire/internal/messages"
	"github.com/toolpost/toolpost/wire/internal/ollama"
)

// The formats.
const (
	Chat      = format.Chat      // OpenAI Chat Completions and all that copy it
	Responses = format.Responses // OpenAI Responses
	Messages  = format.Messages  // Anthropic Messages
	Gemini    = format.Gemini    // Gemini generateContent
	Ollama    = format.Ollama    // Ollama chat
	Converse  = format.Converse  // Amazon Bedrock Converse
)

// The vocabulary of a format is in package format. These names are kept for programs that use them from here.
type (
	Answer           = format.Answer
	ErrorForm        = format.ErrorForm
	EventWriter      = format.EventWriter
	FailedGeneration = format.FailedGeneration
	Feature          = format.Feature
	Format           = format.Format
	Head             = format.Head
	MediaTypes       = format.MediaTypes
	ModelList        = format.ModelList
	Properties       = format.Properties
	Quirks           = format.Quirks
	RelayDecision    = format.RelayDecision
	RelayFailure     = format.RelayFailure
	RelayTrailing    = format.RelayTrailing
	RequestBounds    = format.RequestBounds
	ThinkingRules    = format.ThinkingRules
	TokenCount       = format.TokenCount
)

// The rules of names and ids, and their aliases, are in package history.
type (
	Aliases = history.Aliases
	Rules   = history.Rules
)

// The features of requests; see package format.
const (
	StrictTools       = format.StrictTools
	ToolExamples      = format.ToolExamples
	FreeTextTools     = format.FreeTextTools
	ToolGrammars      = format.ToolGrammars
	HostedSearch      = format.HostedSearch
	ChoiceRequired    = format.ChoiceRequired
	ChoiceNamed       = format.ChoiceNamed
	ChoiceNone        = format.ChoiceNone
	ChoiceAllowed     = format.ChoiceAllowed
	OneCall           = format.OneCall
	OutputSchema      = format.OutputSchema
	OutputAnyJSON     = format.OutputAnyJSON
	OutputBesideTools = format.OutputBesideTools
	MaxTokens         = format.MaxTokens
	Temperature       = format.Temperature
	TopP              = format.TopP
	TopK              = format.TopK
	FrequencyPenalty  = format.FrequencyPenalty
	PresencePenalty   = format.PresencePenalty
	Seed              = format.Seed
	StopSequences     = format.StopSequences
	SeveralAnswers    = format.SeveralAnswers
	ReasoningOff      = format.ReasoningOff
	ReasoningEffort   = format.ReasoningEffort
	ReasoningBudget   = format.ReasoningBudget
	ReasoningSummary  = format.ReasoningSummary
)

// Constants of package format and package history.
const (
	AnthropicFields = format.AnthropicFields
	AmazonFields    = format.AmazonFields
	OpenAIFields    = format.OpenAIFields
	AnyText         = format.AnyText
	FreeInput       = format.FreeInput
	Interrupted     = history.Interrupted
	Silent          = history.Silent
)

// MaxDocument limits an answer that is one document, in bytes.
const MaxDocument = codec.MaxDocument

// The decisions without arguments; see [Codec.Relay].
var (
	Pass = format.Pass
	Hold = format.Hold
)

// Replace is [format.Replace].
func Replace(events ...llm.Event) RelayDecision { return format.Replace(events...) }

// GiveUp is [format.GiveUp].
func GiveUp(err *llm.Error) RelayDecision { return format.GiveUp(err) }

// Heal is [history.Repair].
func Heal(msgs []llm.Message, vendor string) ([]llm.Message, []llm.Warning) {
	return history.Repair(msgs, vendor)
}

// ReadDocument reads an answer that is one document, up to [MaxDocument] bytes. A longer one is an error of kind
// [llm.ByteLimit].
func ReadDocument(src io.Reader) ([]byte, error) { return codec.ReadDocument(src) }

// SaysReplaced reports whether a warning says that U+FFFD replaces half of a surrogate pair. A server that passes on the
// bytes it read does not have this loss.
func SaysReplaced(ev llm.Event) bool { return codec.SaysReplaced(ev) }

// WithoutHosted returns req without the hosted tools for which refused returns an error, and a warning for each. The request
// is not changed.
func WithoutHosted(req *llm.Request, refused func(llm.ToolDef) error) (*llm.Request, []llm.Warning) {
	return loss.WithoutHosted(req, refused)
}

// OnVertex returns how Google's Vertex AI serves the messages format: the model is in the path, below publishers/anthropic,
// and the version in the body.
func OnVertex() Quirks { return messages.OnVertex() }

// OnBedrock returns how Amazon Bedrock serves the messages format with InvokeModel: the model is in the path, the version in
// the body, and a stream comes in frames.
func OnBedrock() Quirks { return messages.OnBedrock() }

// OnGenerate returns how Ollama serves /api/generate: one prompt instead of messages.
func OnGenerate() Quirks { return ollama.OnGenerate() }
