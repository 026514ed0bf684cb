// Package openapi makes the operations of an OpenAPI 3 document tools.
//
// [Parse] reads a document of version 3.0 or 3.1 in JSON or YAML. Nothing is ever
// fetched: a reference to another file or address leaves a hole, which is reported.
// [Document.Tools] turns the operations that a [Config] chooses into tools. A GET or
// HEAD is read-only; everything else promises nothing and is asked about. Whatever a
// tool cannot do that its operation could is a [Loss].
//
// Credentials come from the environment, by the names in [Config.Auth], and are sent
// to [Config.Server] only.
package openapi
