// Package gateway serves the vendors' APIs to any client, over any upstream.
//
// A [Gateway] is one [http.Handler]. A client speaks the format it knows: OpenAI Chat
// Completions or Responses, Anthropic Messages, Gemini, Ollama, Bedrock Converse. The
// name of the model it asks for leads to a [ModelRoute], and the route to one or more
// upstreams, which are opened by the same ids as everywhere else. What the model says is
// told to the client in the client's own format, as a stream or in one piece, and every
// promise of package provider holds on the way: tools are taught to models that have none,
// calls are read from every dialect, histories are healed, names and ids are mapped,
// schemas are narrowed. What could not be done as asked stands in the header
// [WarningHeader].
//
// A route may have tools that the gateway runs itself, beside those of its clients; see
// [ServedTools].
//
// Who may ask for what, and how much, is in Setup.Access; see package access. Without it everybody
// may ask, and the gateway belongs behind [LocalOnly].
package gateway
