package catalog

// unknownFamily is the family of an id that names none.
const unknownFamily = "unknown"

// ID is a model id taken apart. It is comparable with ==.
type ID struct {
	Raw      string  // the unchanged id
	Provider string  // the host, if the id names it: "ollama", "openrouter"
	Org      string  // who published it: "meta-llama", "anthropic"; lower case
	Family   string  // "claude", "llama"; for an unknown model its first word, or "unknown"
	Base     string  // the family it was made from, where the id names one: "llama" in hermes-3-llama-3.1
	Version  Version // of the family: 3.3 in llama3.3
	Revision Version // a finer number that is not the version: v0.3 of Mistral 7B, 3.1 of DeepSeek V3
	Variant  string  // "mini", "sonnet", "coder", "flash-lite"
	Size     int64   // parameters; 0 if the id does not give them
	Active   int64   // parameters active per token, for mixtures of experts that give them
	Custom   bool    // a fine-tune, or made by someone we do not know
	Reason   string  // why the family is not known; empty if it is

	words wordSet // the known words of the id, for rules
}

// Known reports whether the id names a family of the catalogue.
func (id ID) Known() bool { return id.Reason == "" }

// Root returns the family that the family of this id belongs to: "mistral" for
// mixtral, "o-series" for o3. Most families are their own root.
func (id ID) Root() string {
	if f := vocabulary().families[id.Family]; f != nil && f.root != "" {
		return f.root
	}
	return id.Family
}

// wordSet is a set of words of the vocabulary.
type wordSet [4]uint64

func (s *wordSet) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s wordSet) overlaps(t wordSet) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}
