package format

// Quirks are the differences between hosts of one format.
type Quirks struct {
	// MaxTokens is the field of the chat format that limits the answer; empty
	// means max_completion_tokens.
	MaxTokens string
	// SystemRole is the role of Request.System in the chat format; empty
	// means system.
	SystemRole string
	// Thinking is the field of the chat format in which the thinking of
	// earlier turns goes back, like reasoning_content. Empty means it stays
	// out of requests. Answers have it under this name too, or under
	// reasoning_content.
	Thinking string
	// ThinkingForCalls sends thinking back only in turns that hold calls.
	ThinkingForCalls bool
	// ThinkingParts sends thinking back as separate parts of the chat format's content, at their place in the text, as
	// Mistral does. Answers in this form are read in any case.
	ThinkingParts bool
	// NameIsNextCall reports a server whose streams begin a second call with the name and the index of the first, without
	// an id and without arguments. From other servers such a piece repeats the first call.
	NameIsNextCall bool
	// NoParallel leaves out the flag that forbids parallel calls.
	NoParallel bool
	// NoStrict leaves out the flag that holds a model to a schema.
	NoStrict bool
	// NoStreamUsage leaves out the chat option that asks for usage.
	NoStreamUsage bool
	// NoCallIDs leaves out the ids of calls where the format can do without:
	// Gemini and Ollama. Results are then matched by name and order.
	NoCallIDs bool
	// OpenAPISchema puts the schemas of tools where Gemini hosts expect the
	// vendor's older kind of schema. The caller has narrowed them.
	OpenAPISchema bool
	// Path and StreamPath are where a host takes requests that its maker
	// takes elsewhere; see [Properties]. What they say, the messages format
	// leaves out of the body: which model, and whether a stream is asked for.
	Path, StreamPath string
	// Version is what hosts of the messages format other than its maker want
	// as anthropic_version in the body.
	Version string
	// Framed says that the host is Amazon's, whose streams hold the events of
	// the messages format in frames and whose errors are its own.
	Framed bool
	// ModelFields is the maker whose names the converse format uses for what it
	// leaves to each model: "anthropic", "amazon" or "openai". Empty means that the models
	// take nothing beyond the format.
	ModelFields string
	// TypedMessages writes what the assistant said in the long form of the
	// responses format, as an item with its type. llama.cpp takes no other.
	TypedMessages bool
	// EmptyText writes an empty text where a message of the chat format has calls and no content, instead of null.
	EmptyText bool
	// Members are fields of requests, separated by spaces, that the host accepts from clients of other formats although
	// package llm does not have them, like user and cache_control. Empty means the fields that the format's vendor
	// accepts.
	Members string
	// Prompt says that requests of the Ollama format hold one prompt instead of messages, and
	// answers one text instead of a message.
	Prompt bool
}
