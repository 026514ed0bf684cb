// Package gateway serves the vendors' APIs to any client, over any upstream.
//
// A [Gateway] is an [http.Handler]. Clients use the format they know: OpenAI Chat Completions or Responses, Anthropic
// Messages, Gemini, Ollama, or Bedrock Converse. The requested model name selects a [ModelRoute], which leads to one or
// more upstreams. Upstream ids have the same form as in the rest of Toolpost. The client gets the answer in its own
// format, as a stream or as a document. All guarantees of package provider hold: models without native tools are taught
// to use them, calls are read from every dialect, histories are repaired, names and ids are mapped, and schemas are
// narrowed. The header Toolpost-Warning reports what could not be done as asked.
//
// A route may have tools that the gateway runs itself, in addition to those of its clients; see [ServedTools].
//
// Setup.Access controls who may use which models, and how much; see [OpenAccess]. Without it every client is allowed,
// and the gateway needs [LocalOnly].
package gateway
