package catalog

import (
	"io"
	"maps"

	"github.com/toolpost/toolpost/internal/modeldb"
)

// Import returns a catalogue that also knows the models of a database: the api.json of models.dev or the
// model_prices_and_context_window.json of LiteLLM, which are told apart by their shape. More than 64 MiB or 50,000
// models are refused. The facts of a
// database win over the rules, but not over the embedded or the user's entries.
// Where two databases disagree, the strictest answer wins. A plain yes does not
// change a yes of the rules, which keeps its conditions.
func (c *Catalog) Import(r io.Reader) (*Catalog, error) {
	db, err := modeldb.Read(r)
	if err != nil {
		return nil, err
	}
	d := c.clone()
	d.imports = maps.Clone(c.imports)
	if d.imports == nil {
		d.imports = map[string]modeldb.Entry{}
	}
	all := make(map[string]exact, len(db.Models))
	for id, m := range db.Models {
		from := "imported from " + db.Source
		if old, ok := d.imports[id]; ok {
			m = m.Strictest(old)
			from = "imported, strictest of several"
		}
		d.imports[id] = m
		all[id] = exact{rule: rule{name: id, from: from, set: settingsOf(modelOf(m))}}
	}
	d.addExact(imported, all)
	return d, nil
}

// modelOf returns the facts of a database as fields of a Model.
func modelOf(m modeldb.Entry) Model {
	answer := func(b *bool) Answer {
		switch {
		case b == nil:
			return Answer{}
		case *b:
			return Answer{Support: Yes}
		}
		return Answer{Support: No}
	}
	return Model{NativeTools: answer(m.NativeTools), ParallelTools: answer(m.ParallelTools), ToolChoiceRequired: answer(m.Required),
		JSONSchema: answer(m.JSONSchema), Reasoning: answer(m.Reasoning), ContextWindow: m.ContextWindow, MaxOutput: m.MaxOutput}
}
