// Package console shows the record of runs, waiting approvals and a gateway as web pages.
//
// A [Console] is an http.Handler. It needs a [RunStore] of runs. With a [AdminAPI] it also shows requests, keys and usage.
// Everything that a page needs is in the program: no page loads anything from another host.
//
// Nobody sees a page without a token. An [Account] has a role: viewers read, operators decide about waiting calls, and
// administrators change keys. Requests with another Host, and changes from another origin, are refused.
//
// Every text that a model, a tool or a client can write is escaped, and its control characters are visible. Long texts
// are cut, and a link leads to the whole text.
package console
