package session

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// routeWords describe how a model is asked for calls.
var routeWords = map[provider.RouteKind]string{
	provider.Native:      "native tools",
	provider.Constrained: "tools in the prompt, with answers held to the form of calls",
	provider.Prompted:    "tools in the prompt",
	provider.Text:        "calls read from its text",
}

// Tools describes in a few words how a model is offered tools, "" if that is not known.
func Tools(m llm.Model) string {
	opened, ok := m.(*provider.Model)
	if !ok {
		return ""
	}
	route, err := opened.Explain(nil)
	if err != nil {
		return ""
	}
	return cmp.Or(routeWords[route.Kind], string(route.Kind))
}

// Abilities describes in one line what the model can do, "" if nothing is known.
func (w *Session) Abilities() string {
	m, ok := w.Opened.(*provider.Model)
	if !ok {
		return ""
	}
	info := m.Info()
	words := []string{Tools(m)}
	if info.ParallelTools.Support == catalog.Yes {
		words = append(words, "several calls at once")
	}
	if info.Reasoning.Support == catalog.Yes {
		words = append(words, "thinking")
	}
	if info.JSONSchema.Support == catalog.Yes {
		words = append(words, "answers of a given form")
	}
	if info.ContextWindow > 0 {
		words = append(words, fmt.Sprintf("a context of %d tokens", info.ContextWindow))
	}
	if info.Price.Known {
		words = append(words, "a known price")
	}
	if !info.Known() {
		words = append(words, "all assumed, because the catalogue does not know it")
	}
	return strings.Join(words, ", ")
}

// Custom describes a model that is not in the catalogue but of a known family, "" for any other.
func (w *Session) Custom() string {
	m, ok := w.Opened.(*provider.Model)
	if !ok || strings.HasPrefix(w.Found.ID, "sim/") {
		return ""
	}
	info := m.Info()
	if !info.ID.Custom || !info.Known() || !info.ID.Known() {
		return ""
	}
	return fmt.Sprintf("custom model, treated like %s (%s)", familyName(info.ID), Tools(m))
}

// familyName returns a family and its version as people write them, like Llama 3.3.
func familyName(id catalog.ID) string {
	name := strings.ToUpper(id.Family[:1]) + id.Family[1:]
	if len(id.Family) <= 3 && id.Family != "phi" {
		name = strings.ToUpper(id.Family) // GPT, GLM
	}
	if v := id.Version.String(); v != "" {
		name += " " + v
	}
	return name
}

// misspelt names an entry of models.yaml that was probably meant for the model and does not match it, "" if there is none.
func (w *Session) misspelt() string {
	m, ok := w.Opened.(*provider.Model)
	if !ok {
		return ""
	}
	id := w.Found.ID
	if _, model, address := strings.Cut(id, "#"); address && strings.Contains(id, "://") {
		id = model
	} else if _, model, slash := strings.Cut(id, "/"); slash {
		id = model
	}
	own := openmodel.Entries(w.client.Catalog)
	var names []string
	for _, e := range own {
		if m.Info().RuleOf("native_tools") == e.ID || strings.HasSuffix(strings.ToLower(w.Found.ID), strings.ToLower(e.ID)) {
			return "" // it has an entry
		}
		names = append(names, e.ID)
	}
	like := near.Word(id, names)
	for _, e := range own {
		if e.ID == like {
			return fmt.Sprintf("%s is about %s, which is not the name of this model; is %s meant?", cli.InOneLine(e.From), cli.InOneLine(like), cli.InOneLine(id))
		}
	}
	return ""
}
