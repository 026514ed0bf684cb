package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Vendors search tools with deferred definitions themselves. The result of a search is part of the answer, and has to
// come back with it. A server here does the same.

// mostFound is the maximum number of tools that a search finds, the same as that of the vendors.
const mostFound = 5

// searchForm is a vendor's form of a search and its results in an answer.
type searchForm struct {
	format string
	// blocks are the search and its results.
	blocks func(codec wire.Codec, search llm.ToolDef, id, query string, found []llm.ToolDef) ([]any, error)
	whole  string // the answer, with BLOCKS in place of the blocks
	// names returns the tools that a block of the conversation reports as found.
	names func(codec wire.Codec, block []byte) []string
}

var searchForms = []searchForm{
	{wire.Messages, searchBlocks, `{"role":"assistant","content":BLOCKS,"stop_reason":"end_turn"}`, references},
	{wire.Responses, searchItems, `{"status":"completed","output":BLOCKS}`, loadedBy},
}

func formOf(codec wire.Codec) (searchForm, bool) {
	i := slices.IndexFunc(searchForms, func(f searchForm) bool { return f.format == codec.Format })
	if i < 0 {
		return searchForm{}, false
	}
	return searchForms[i], true
}

// isDeferred reports whether a definition is kept from the model until it is found.
func isDeferred(codec wire.Codec, t llm.ToolDef) bool {
	return string(t.Extra[codec.Format]["defer_loading"]) == "true"
}

// ownSearch returns the search of a request that the server runs. It ignores a search that the client runs.
func ownSearch(req *llm.Request) (llm.ToolDef, bool) {
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool && t.Name == llm.ToolSearch && (t.Hosted == nil || string(t.Hosted.Options["execution"]) != `"client"`) {
			return t, true
		}
	}
	return llm.ToolDef{}, false
}

// unloaded returns the deferred tools that the conversation has not found.
func unloaded(codec wire.Codec, req *llm.Request) []llm.ToolDef {
	form, ok := formOf(codec)
	if !ok || !slices.ContainsFunc(req.Tools, func(t llm.ToolDef) bool { return isDeferred(codec, t) }) {
		return nil
	}
	found := form.found(codec, req)
	return slices.DeleteFunc(slices.Clone(req.Tools), func(t llm.ToolDef) bool {
		return !isDeferred(codec, t) || slices.Contains(found, t.Name)
	})
}

// found returns the names of the tools that the conversation reports as found.
func (f searchForm) found(codec wire.Codec, req *llm.Request) []string {
	var names []string
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			names = append(names, f.foundIn(codec, p)...)
		}
	}
	return names
}

func (f searchForm) foundIn(codec wire.Codec, p llm.Part) []string {
	switch p := p.(type) {
	case llm.Text:
		return f.names(codec, p.State.Data)
	case llm.Result:
		names := f.names(codec, p.State.Data)
		for _, inner := range p.Parts {
			if t, ok := inner.(llm.Text); ok {
				names = append(names, f.names(codec, t.State.Data)...)
			}
		}
		return names
	}
	return nil
}

// references are the tools that a block of the messages format refers to.
func references(_ wire.Codec, block []byte) []string {
	var names []string
	if js.Is(js.Get(block, "type"), "tool_reference") {
		names = append(names, js.Text(js.Get(block, "tool_name")))
	}
	for el := range js.Elements(js.Get(js.Get(block, "content"), "tool_references")) {
		names = append(names, js.Text(js.Get(el, "tool_name")))
	}
	return names
}

// loadedBy are the tools that an item of the responses format defines.
func loadedBy(codec wire.Codec, item []byte) []string {
	if !js.Is(js.Get(item, "type"), "tool_search_output") {
		return nil
	}
	body := slices.Concat([]byte(`{"model":"m","input":"?","tools":`), js.Get(item, "tools"), []byte(`}`))
	req, _, err := codec.DecodeRequest(body)
	if err != nil {
		return nil
	}
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return names
}

// visible is the request as the model sees it: without the deferred tools that cannot be found because the server does
// not search for them.
func visible(codec wire.Codec, req *llm.Request) *llm.Request {
	hidden := unloaded(codec, req)
	if _, ok := ownSearch(req); ok || len(hidden) == 0 {
		return req
	}
	out := req.Clone()
	out.Tools = slices.DeleteFunc(out.Tools, func(t llm.ToolDef) bool { return named(hidden, t.Name) })
	return out
}

func named(tools []llm.ToolDef, name string) bool {
	return slices.ContainsFunc(tools, func(t llm.ToolDef) bool { return t.Name == name })
}

// search puts the vendor's search before the first call of an answer that needs one: a
// deferred tool can be called once it is found.
func search(codec wire.Codec, req *llm.Request, r *llm.Response, answerID string) error {
	form, ok := formOf(codec)
	tool, offered := ownSearch(req)
	if !ok || !offered {
		return nil
	}
	hidden := unloaded(codec, req)
	first := -1
	var wanted []string
	for i, p := range r.Message.Parts {
		if c, ok := p.(llm.Call); ok && !c.Hosted && named(hidden, c.Name) && !slices.Contains(wanted, c.Name) {
			if wanted = append(wanted, c.Name); first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return nil
	}
	query := strings.ReplaceAll(strings.Join(wanted, " "), "_", " ")
	blocks, err := form.blocks(codec, tool, letters(answerID), query, nearest(hidden, wanted, query))
	if err != nil {
		return err
	}
	body, _ := json.Marshal(blocks) // maps and texts
	read, err := codec.DecodeResponse([]byte(strings.Replace(form.whole, "BLOCKS", string(body), 1)))
	if err != nil {
		return fmt.Errorf("sim: the search of the %s format: %w", codec.Format, err)
	}
	r.Message.Parts = slices.Insert(r.Message.Parts, first, read.Message.Parts...)
	r.Finish.Usage.Hosted = map[string]int{llm.ToolSearch: 1}
	return nil
}

// letters returns the letters and digits of an id, characters that every id allows.
func letters(id string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(wordChars, r) && r != '-' {
			return r
		}
		return -1
	}, id)
}

// nearest returns the wanted tools and the tools nearest to the query, in the order of tools.
func nearest(tools []llm.ToolDef, wanted []string, query string) []llm.ToolDef {
	docs := make([][]rank.Field, len(tools))
	for i, t := range tools {
		docs[i] = rank.Document(t.Name, t.Description, nil)
	}
	names := slices.Clone(wanted)
	for _, hit := range rank.New(docs).Search(query, mostFound) {
		if name := tools[hit.Doc].Name; len(names) < mostFound && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t llm.ToolDef) bool { return !slices.Contains(names, t.Name) })
}

func searchBlocks(codec wire.Codec, search llm.ToolDef, id, query string, found []llm.ToolDef) ([]any, error) {
	name := "tool_search_tool_bm25"
	if search.Hosted != nil && strings.Contains(search.Hosted.Type, "regex") {
		name = "tool_search_tool_regex"
	}
	refs := []any{}
	for _, t := range found {
		refs = append(refs, map[string]string{"type": "tool_reference", "tool_name": t.Name})
	}
	return []any{
		map[string]any{"type": "server_tool_use", "id": "srvtoolu_" + id, "name": name, "input": map[string]string{"query": query}},
		map[string]any{"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_" + id, "content": map[string]any{"type": "tool_search_tool_search_result", "tool_references": refs}},
	}, nil
}

func searchItems(codec wire.Codec, _ llm.ToolDef, id, query string, found []llm.ToolDef) ([]any, error) {
	body, _, err := codec.EncodeRequest(&llm.Request{Model: "m", Messages: []llm.Message{llm.User("?")}, Tools: found}, false)
	if err != nil {
		return nil, err
	}
	return []any{
		map[string]any{"type": "tool_search_call", "id": "tsc_" + id, "call_id": nil, "execution": "server", "status": "completed", "arguments": map[string]string{"query": query}},
		map[string]any{"type": "tool_search_output", "id": "tso_" + id, "call_id": nil, "execution": "server", "status": "completed", "tools": json.RawMessage(js.Get(body, "tools"))},
	}, nil
}

// searchRules are the vendors' restrictions on deferred tools.
var searchRules = []VendorRule{
	{Name: "messages.search_model", Formats: onMessages, check: searchless("'%s' does not support tool types: %s.")},
	{Name: "responses.search_model", Formats: onResponses, check: searchless("Tool '%[2]s' is not supported with %[1]s.")},
	{Name: "messages.all_deferred", Formats: onMessages, check: func(q *inquiry) string {
		all := slices.Collect(js.Elements(js.Get(q.body, "tools")))
		if len(all) > 0 && !slices.ContainsFunc(all, func(t []byte) bool { return string(js.Get(t, "defer_loading")) != "true" }) {
			return "All tools have defer_loading set. At least one tool must be non-deferred."
		}
		return ""
	}},
	{Name: "messages.deferred_cache", Formats: onMessages, check: func(q *inquiry) string {
		for t := range js.Elements(js.Get(q.body, "tools")) {
			if string(js.Get(t, "defer_loading")) == "true" && js.Get(t, "cache_control") != nil {
				return fmt.Sprintf("Tool '%s' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.", js.Text(js.Get(t, "name")))
			}
		}
		return ""
	}},
	{Name: "messages.tool_reference", Formats: onMessages, check: func(q *inquiry) string {
		form, _ := formOf(q.codec)
		for _, name := range form.found(q.codec, q.Request) {
			if !named(q.Tools, name) {
				return fmt.Sprintf("Tool reference '%s' has no corresponding tool definition", name)
			}
		}
		return ""
	}},
	{Name: "responses.deferred", Formats: onResponses, check: func(q *inquiry) string {
		searched := slices.ContainsFunc(q.Tools, func(t llm.ToolDef) bool { return t.Kind == llm.HostedTool && t.Name == llm.ToolSearch })
		if !searched && slices.ContainsFunc(q.Tools, func(t llm.ToolDef) bool { return isDeferred(q.codec, t) }) {
			return "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search."
		}
		return ""
	}},
}

// searchless finds a search that the model does not have.
func searchless(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		if q.model.ID.Raw == "" || q.model.ToolSearch.Support == catalog.Yes {
			return ""
		}
		for _, t := range q.Tools {
			if t.Kind == llm.HostedTool && t.Name == llm.ToolSearch && t.Hosted != nil {
				return fmt.Sprintf(words, q.model.ID.Raw, t.Hosted.Type)
			}
		}
		return ""
	}
}
