// Package shorten makes short views of tool results, for models that pay for each
// token they read. A view keeps the names in a result and the parts that the task asks
// about, and states how much is missing; [Page] returns the rest, page by page.
//
// Where a result has structure (JSON, JSON Lines, JSON inside of strings or of the
// result of an MCP server, simple YAML), the view follows it: lists of similar objects
// become tables, null and repeated values are written once, long texts keep their
// beginning, their end and the names between. Other text is shown by lines.
//
// A view is never wrong: texts and keys are quoted where they could be taken for
// something else, tags are left out only of documents of HTML and XML, and every
// omission is stated.
//
// A view is text, never JSON, and part of a value is therefore not taken for the
// whole. The work grows with the length of the result only, and the same input has the
// same view.
package shorten
