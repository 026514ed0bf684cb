package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxImport = 64 << 20 // bytes of a database
	maxModels = 50_000   // of a database
)

// Database is a set of models as models.dev or LiteLLM publish it, reduced to
// the fields that the catalogue uses.
type Database struct {
	Source string              `json:"source"` // "models.dev" or "litellm"
	Models map[string]Imported `json:"models"` // by id, folded
}

// Imported is the entry of a database for one model. Fields that are nil or 0
// are unknown.
type Imported struct {
	NativeTools   *bool `json:"native_tools,omitempty"`
	ParallelTools *bool `json:"parallel_tools,omitempty"`
	Required      *bool `json:"tool_choice_required,omitempty"`
	JSONSchema    *bool `json:"json_schema,omitempty"`
	Reasoning     *bool `json:"reasoning,omitempty"`
	ContextWindow int   `json:"context_window,omitempty"`
	MaxOutput     int   `json:"max_output_tokens,omitempty"`
}

// ReadDatabase reads the api.json of models.dev or the
// model_prices_and_context_window.json of LiteLLM; it tells them apart by their
// shape. A duplicate id with different answers gets the strictest. More than 64
// MiB or 50,000 models are refused.
func ReadDatabase(r io.Reader) (*Database, error) {
	data, err := readBounded(r, maxImport)
	if err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("not a database of models: %w", err)
	}
	db := &Database{Models: map[string]Imported{}}
	for _, name := range slices.Sorted(maps.Keys(top)) {
		if err := db.read(name, top[name]); err != nil {
			return nil, err
		}
		if len(db.Models) > maxModels {
			return nil, fmt.Errorf("more than %d models", maxModels)
		}
	}
	if len(db.Models) == 0 {
		return nil, errors.New("no models found: expected the api.json of models.dev or the model_prices_and_context_window.json of LiteLLM")
	}
	return db, nil
}

// read reads one entry: a provider of models.dev, or a model of LiteLLM.
func (db *Database) read(name string, data json.RawMessage) error {
	var entry struct {
		Models map[string]struct {
			ID        string `json:"id"`
			Tools     *bool  `json:"tool_call"`
			Schema    *bool  `json:"structured_output"`
			Reasoning *bool  `json:"reasoning"`
			Limit     struct {
				Context int `json:"context"`
				Output  int `json:"output"`
			} `json:"limit"`
		} `json:"models"`
		Mode      string `json:"mode"`
		Provider  string `json:"litellm_provider"`
		Tools     *bool  `json:"supports_function_calling"`
		Parallel  *bool  `json:"supports_parallel_function_calling"`
		Required  *bool  `json:"supports_tool_choice"`
		Schema    *bool  `json:"supports_response_schema"`
		Reasoning *bool  `json:"supports_reasoning"`
		Context   number `json:"max_input_tokens"`
		Output    number `json:"max_output_tokens"`
	}
	if err := json.Unmarshal(data, &entry); err != nil {
		return nil // not a model: LiteLLM's file explains itself in one
	}
	if entry.Models != nil {
		db.Source = "models.dev"
		for key, m := range entry.Models {
			db.add(cmp.Or(m.ID, key), Imported{m.Tools, nil, nil, m.Schema, m.Reasoning, bounded(m.Limit.Context), bounded(m.Limit.Output)})
		}
		return nil
	}
	if entry.Provider == "" || entry.Mode != "chat" && entry.Mode != "responses" || name == "sample_spec" {
		return nil
	}
	db.Source = "litellm"
	db.add(name, Imported{entry.Tools, entry.Parallel, refusal(entry.Required), refusal(entry.Schema), entry.Reasoning, bounded(int(entry.Context)), bounded(int(entry.Output))})
	return nil
}

// refusal keeps a no and drops a yes: LiteLLM has a yes for schemas and tool
// choices that it emulates, or that work in part.
func refusal(b *bool) *bool {
	if b != nil && *b {
		return nil
	}
	return b
}

// number reads a number; LiteLLM writes some as text, which is ignored.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	var f float64
	if json.Unmarshal(b, &f) == nil && f > 0 && f < 1<<31 {
		*n = number(f)
	}
	return nil
}

func bounded(n int) int {
	if n < 0 || n > 1<<30 {
		return 0
	}
	return n
}

// add records the facts about an id. Earlier facts stay where they are
// stricter.
func (db *Database) add(id string, m Imported) {
	id = foldID(id)
	if id == "" || len(id) > maxID {
		return
	}
	if old, ok := db.Models[id]; ok {
		m = m.strictest(old)
	}
	db.Models[id] = m
}

func (m Imported) strictest(o Imported) Imported {
	both := func(a, b *bool) *bool {
		if a == nil || b != nil && !*b {
			return b
		}
		return a
	}
	least := func(a, b int) int {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	return Imported{both(m.NativeTools, o.NativeTools), both(m.ParallelTools, o.ParallelTools), both(m.Required, o.Required),
		both(m.JSONSchema, o.JSONSchema), both(m.Reasoning, o.Reasoning), least(m.ContextWindow, o.ContextWindow), least(m.MaxOutput, o.MaxOutput)}
}

// Import returns a catalogue that also knows the models of db. The facts of a
// database win over the rules, but not over the embedded or the user's entries.
// Where two databases disagree, the strictest answer wins. A plain yes does not
// change a yes of the rules, which keeps its conditions.
func (c *Catalog) Import(db *Database) *Catalog {
	d := c.clone()
	d.imports = maps.Clone(c.imports)
	if d.imports == nil {
		d.imports = map[string]Imported{}
	}
	all := make(map[string]exact, len(db.Models))
	for id, m := range db.Models {
		from := "imported from " + db.Source
		if old, ok := d.imports[id]; ok {
			m = m.strictest(old)
			from = "imported, strictest of several"
		}
		d.imports[id] = m
		all[id] = exact{rule: rule{name: id, from: from, set: settingsOf(m.model())}}
	}
	d.addExact(imported, all)
	return d
}

// model returns the facts as fields of a Model.
func (m Imported) model() Model {
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

// Save writes db as JSON into the folder and returns the file.
func (db *Database) Save(dir string) (string, error) {
	data, err := json.Marshal(db)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(dir, strings.ReplaceAll(db.Source, ".", "-")+".json")
	tmp, err := os.CreateTemp(dir, ".update-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name()) // already renamed on success
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return "", err
	}
	return file, os.Rename(tmp.Name(), file)
}
