package catalog

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
)

// corpusRow is one line of the capability corpus; each file uses some fields.
type corpusRow struct {
	ID      string  `json:"id"`
	DB      string  `json:"db"`
	Family  string  `json:"family"`
	Base    string  `json:"base_model"`
	HF      string  `json:"hf"`
	Tools   *bool   `json:"tools"`
	Context float64 `json:"ctx"`
	Output  float64 `json:"max_out"`
	Mode    string  `json:"mode"`

	Model        string   `json:"model"` // of Ollama's library, or a pattern of vLLM's
	Capabilities []string `json:"capabilities"`
	Parser       string   `json:"parser"`
}

// corpusFile reads a file of the corpus, or skips the test.
func corpusFile(t *testing.T, name string) []corpusRow {
	t.Helper()
	return corpus.Lines[corpusRow](t, corpus.Path(t, "capabilities/"+name))
}

// tally counts agreement; testdata/disagreements.txt explains the rest.
type tally struct {
	t         *testing.T
	check     string
	reasons   [][]string
	right, of int
	seen      map[string]bool
}

func newTally(t *testing.T, check string) *tally {
	t.Helper()
	data, err := os.ReadFile("testdata/disagreements.txt")
	if err != nil {
		t.Fatal(err)
	}
	return &tally{t: t, check: check, reasons: idRows(string(data)), seen: map[string]bool{}}
}

func (y *tally) count(ok bool, id, detail string) {
	y.of++
	if ok {
		y.right++
		return
	}
	if y.seen[id+detail] {
		return
	}
	y.seen[id+detail] = true
	reason := "no reason: a fault of ours"
	for _, r := range y.reasons {
		if r[0] == y.check && glob(r[1], id) {
			reason = r[2]
		}
	}
	y.t.Logf("  %-55s %s: %s", id, detail, reason)
}

func (y *tally) done(what string, least float64) {
	y.t.Helper()
	share := float64(y.right) / float64(max(y.of, 1))
	y.t.Logf("%s: %d of %d, %.1f %%", what, y.right, y.of, 100*share)
	if share < least {
		y.t.Errorf("%s: less than %.0f %%", what, 100*least)
	}
}

func TestCorpusAliases(t *testing.T) {
	y := newTally(t, "alias")
	for _, row := range corpusFile(t, "model_id_gold.jsonl") {
		base := row.Base
		if base == "" {
			base = row.HF
		}
		a, b := ParseID(row.ID), ParseID(base)
		y.count(a.Family == b.Family && a.Version == b.Version && a.Size == b.Size, row.ID, "is "+base)
	}
	y.done("aliases with the same family, version and size", 0.98)
}

// rootOf maps a family of the databases to a root of ours.
func rootOf(family string) string {
	switch family {
	case "o", "o-mini":
		return "o-series"
	case "glmv":
		return "glm"
	case "nousresearch":
		return "hermes"
	}
	return ParseID(family).Root()
}

func TestCorpusRoots(t *testing.T) {
	y := newTally(t, "root")
	for _, row := range corpusFile(t, "capabilities.jsonl") {
		chat := row.Context > 0 && row.Output > 0 && Default().Lookup(row.ID).Kind == "chat"
		if row.Family != "" && chat {
			root := ParseID(row.ID).Root()
			y.count(root == rootOf(row.Family), row.ID, root+", not "+row.Family)
		}
	}
	y.done("chat ids with the root of their family", 0.98)
}

func TestCorpusNativeTools(t *testing.T) {
	y := newTally(t, "tools")
	for _, row := range corpusFile(t, "capabilities.jsonl") {
		if row.DB != "models.dev-base" {
			continue
		}
		got := Default().Lookup(row.ID).NativeTools
		want := map[bool]Support{true: Yes, false: No}[*row.Tools]
		y.count(got.Support == want, row.ID, got.String()+", not "+want.String())
	}
	y.done("native tools as in models.dev-base", 0.97)
}

// TestCorpusCoverage: every family with five or more chat ids in the corpus is
// one of ours, and has separate rules.
func TestCorpusCoverage(t *testing.T) {
	ids := map[string]map[string]string{} // by family and short name
	for _, row := range corpusFile(t, "capabilities.jsonl") {
		if row.Mode == "chat" || row.DB == "models.dev" || row.DB == "openrouter" {
			id := ParseID(row.ID)
			if ids[id.Family] == nil {
				ids[id.Family] = map[string]string{}
			}
			name := row.ID[strings.LastIndexByte(row.ID, '/')+1:]
			ids[id.Family][strings.ToLower(name)] = row.ID
		}
	}
	covered := 0
	for family, set := range ids {
		if len(set) < 5 {
			continue
		}
		for _, id := range set {
			if m := Default().Lookup(id); !m.Known() {
				t.Errorf("family %s has %d ids, but no rule covers %s", family, len(set), id)
				break
			}
		}
		covered++
	}
	t.Logf("%d families have five or more ids", covered)
}

// TestCorpusOllama compares with Ollama's data about the models of its library.
func TestCorpusOllama(t *testing.T) {
	y := newTally(t, "ollama")
	for _, row := range corpusFile(t, "ollama_capabilities.jsonl") {
		got := Default().Lookup("ollama/"+row.Model).NativeTools.Support == Yes
		y.count(got == slices.Contains(row.Capabilities, "tools"), row.Model, fmt.Sprintf("tools %v", got))
	}
	y.done("native tools as in Ollama's library", 0.9)
}

// vllmDialects are vLLM's names for our dialects; missing dialects have the
// same name.
var vllmDialects = map[string]string{
	"hermes": "hermes_json", "granite4": "hermes_json", "granite": "granite3", "jamba": "hermes_plural_array", "hunyuan_a13b": "hermes_plural_array",
	"openai": "harmony", "qwen3_xml": "qwen3_coder_xml", "mistral": "mistral_json",
}

// TestCorpusDialects: the parser that vLLM documents for a model reads the
// dialect we name.
func TestCorpusDialects(t *testing.T) {
	y := newTally(t, "dialect")
	for _, row := range corpusFile(t, "vllm_parser_by_model.jsonl") {
		want := cmp.Or(vllmDialects[row.Parser], row.Parser)
		m := Default().Lookup(strings.TrimSuffix(row.Model, "*"))
		y.count(m.Dialect == want && m.NativeTools.Support == Yes, row.Model, m.Dialect+", not "+row.Parser)
	}
	y.done("dialects as in vLLM", 0.9)
}
