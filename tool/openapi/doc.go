// Package openapi turns the operations of an OpenAPI 3 document into tools.
//
// [Parse] reads a document of version 3.0 or 3.1 in JSON or YAML. It never fetches anything: a reference to another
// file or address leaves a hole, which is reported. [Document.Tools] turns the operations that a [Config] chooses into
// tools. A GET or HEAD is read-only; other methods promise nothing and need approval. A feature of an operation that
// its tool lacks is a [Loss].
//
// Credentials come from the environment, by the names in [Config.Auth], and are sent to [Config.Server] only.
package openapi
