// Package tool describes the tools that a model may call. A [Tool] is a value
// with a name, a description, a schema for its arguments, promises about its
// effects, and a function. [Func] makes one from a typed Go function; a [Set]
// holds several under unique names.
//
// The package does not run tools and does not decide about permission: package
// invoke validates, authorises and runs. A failure of a tool becomes an
// [Error], which tells programs and the model how to react.
package tool
