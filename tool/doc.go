// Package tool describes what a model may call: a [Tool] is a value with a
// name, a description, a schema for its arguments, what it promises about its
// effects, and a function. [Func] makes one from a typed Go function; a [Set]
// holds several under unique names.
//
// The package runs nothing by itself and decides nothing about permission:
// package invoke validates, authorises and runs. What goes wrong in a tool
// becomes an [Error], which says what can be done about it, to programs and to
// the model.
package tool
