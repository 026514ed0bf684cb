// Package modeldb reads databases of models: those of models.dev and LiteLLM, and the reduced form that it saves.
package modeldb

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
	maxID     = 512      // bytes of an id
)

// Database is a set of models as models.dev or LiteLLM publish it, reduced to
// the fields that the catalogue uses.
type Database struct {
	Source string           `json:"source"` // "models.dev" or "litellm"
	Models map[string]Entry `json:"models"` // by id, folded
}

// Entry is the entry of a database for one model. Fields that are nil or 0
// are unknown.
type Entry struct {
	NativeTools   *bool `json:"native_tools,omitempty"`
	ParallelTools *bool `json:"parallel_tools,omitempty"`
	Required      *bool `json:"tool_choice_required,omitempty"`
	JSONSchema    *bool `json:"json_schema,omitempty"`
	Reasoning     *bool `json:"reasoning,omitempty"`
	ContextWindow int   `json:"context_window,omitempty"`
	MaxOutput     int   `json:"max_output_tokens,omitempty"`
}

// Read reads a saved database, the api.json of models.dev or the
// model_prices_and_context_window.json of LiteLLM; it tells them apart by their
// shape. A duplicate id with different answers gets the strictest. More than 64
// MiB or 50,000 models are refused.
func Read(r io.Reader) (*Database, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImport+1))
	if err == nil && len(data) > maxImport {
		err = fmt.Errorf("more than %d bytes", maxImport)
	}
	if err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("not a database of models: %w", err)
	}
	if saved, err := readSaved(top); saved != nil || err != nil {
		return saved, err
	}
	db := &Database{Models: map[string]Entry{}}
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

// readSaved reads what [Database.Save] wrote. It returns nil for another form.
func readSaved(top map[string]json.RawMessage) (*Database, error) {
	db := &Database{}
	if len(top) != 2 || json.Unmarshal(top["source"], &db.Source) != nil || json.Unmarshal(top["models"], &db.Models) != nil {
		return nil, nil
	}
	if len(db.Models) > maxModels {
		return nil, fmt.Errorf("more than %d models", maxModels)
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
			db.add(cmp.Or(m.ID, key), Entry{m.Tools, nil, nil, m.Schema, m.Reasoning, bounded(m.Limit.Context), bounded(m.Limit.Output)})
		}
		return nil
	}
	if entry.Provider == "" || entry.Mode != "chat" && entry.Mode != "responses" || name == "sample_spec" {
		return nil
	}
	db.Source = "litellm"
	db.add(name, Entry{entry.Tools, entry.Parallel, refusal(entry.Required), refusal(entry.Schema), entry.Reasoning, bounded(int(entry.Context)), bounded(int(entry.Output))})
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
func (db *Database) add(id string, m Entry) {
	id = strings.ToLower(strings.TrimSpace(id))
	if id == "" || len(id) > maxID {
		return
	}
	if old, ok := db.Models[id]; ok {
		m = m.Strictest(old)
	}
	db.Models[id] = m
}

// Strictest returns the stricter answer of both entries for each fact.
func (m Entry) Strictest(o Entry) Entry {
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
	return Entry{both(m.NativeTools, o.NativeTools), both(m.ParallelTools, o.ParallelTools), both(m.Required, o.Required),
		both(m.JSONSchema, o.JSONSchema), both(m.Reasoning, o.Reasoning), least(m.ContextWindow, o.ContextWindow), least(m.MaxOutput, o.MaxOutput)}
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
