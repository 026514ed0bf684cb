// Package shorten makes short views of what tools return, for models that pay for
// each token they read. A view keeps what names things and what the task asks about,
// and says how much is missing; [Page] returns the rest, page by page.
//
// Where a result has structure (JSON, JSON Lines, JSON inside of strings or of the
// result of an MCP server, simple YAML), the view follows it: lists of like objects
// become tables, null and repeated values are said once, long texts keep their
// beginning, their end and the names between. Other text is shown by lines.
//
// What a view shows is never false: texts and keys are quoted where they could be taken
// for something else, tags are left out only of documents of HTML and XML, and what is
// left out is said.
//
// A view is text, never JSON, so that a part of a value is not taken for the whole.
// The work grows with the length of the result only, and the same input has the same
// view.
package shorten
