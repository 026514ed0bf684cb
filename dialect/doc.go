// Package dialect reads the tool calls that models write as text.
//
// Each way of writing a call that is known is a row of a table (see
// [List.All]) over one streaming engine, and so is one of your own (see
// [List.With]). A [Parser] takes the text of an answer in whatever pieces it
// arrives and yields thinking, text and calls as llm.Event values, in the order
// the model wrote them, as early as they can be known.
//
// # What holds for every dialect
//
// The meaning of a text does not depend on how it was cut into chunks. The
// deltas of a call, joined, are the arguments of the call that follows. Only
// text that may still turn out to be markup is held back. Text that is not part of
// a call is never lost. A call that was cut off, cannot be read or names a
// tool that was not offered arrives as llm.InvalidCall; what looks like a call
// and was not read as one is reported by an llm.Warning.
//
// The dialect is found from the text, by the bytes after a marker and never by
// the marker alone; a hint only decides what the text leaves open.
package dialect
