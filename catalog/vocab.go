package catalog

import (
	_ "embed"
	"fmt"
	"sync"
)

// vocab is the vocabulary of ParseID; it is read once from data/names.yaml.
type vocab struct {
	families  map[string]*family // by name, members of numbered families too
	order     []*family          // as in the file
	names     map[string]name    // every way to write a family
	initials  map[string]*family // short forms that need a number
	words     map[string]word
	orgs      map[string]org
	providers map[string]string // every way to write a host, and its one name
	regions   map[string]bool
	skip      map[string]bool
	quants    map[string]bool // the start of a quantisation

	quantTails map[string]bool      // the rest of one
	implied    map[string][]implied // by family
}

// family is how one family of models writes its ids.
type family struct {
	name     string
	root     string   // the family it belongs to; empty if it is its own
	rank     int      // which name wins when an id holds two: nemotron over llama
	letters  string   // letters that may precede its version: k in kimi-k2
	series   string   // letters of its series, for families with series instead of versions
	wide     bool     // two digits are a whole number here: aya-23, not 2.3
	last     bool     // its version may come last: qwen:7b-v1.5
	zero     bool     // a final .0 is ignored: claude 4.0 is claude 4
	numbered bool     // the number is part of the family's name: o1, o3
	members  []string // of a numbered family, by number
	examples []string // ids for listings; the first is typical
}

// name is one way to write a family; line is the variant that it implies.
type name struct {
	family *family
	line   string
}

// class is the effect of a word on an id.
type class uint8

const (
	heavy  class = iota // names the variant: mini, coder
	light               // names it in the absence of a heavy word: instruct, preview
	silent              // names its packaging: free, gguf
	custom              // somebody changed the model: ft, abliterated
)

type word struct {
	text  string
	index int
	class class
}

type org struct {
	name   string
	family *family // the family of a name here that does not include one
}

// noFamily is the family of an id that does not name one.
var noFamily = family{name: unknownFamily}

//go:embed data/names.yaml
var namesYAML []byte

// vocabulary returns the embedded vocabulary. The file is part of the program,
// so a fault in it is a bug and panics; a test reads it.
var vocabulary = sync.OnceValue(func() *vocab {
	v, err := readVocab(namesYAML)
	if err != nil {
		panic("catalog: data/names.yaml: " + err.Error())
	}
	return v
})

func readVocab(data []byte) (*vocab, error) {
	doc, err := readYAML("names.yaml", data)
	if err != nil {
		return nil, err
	}
	v := &vocab{
		families: map[string]*family{}, names: map[string]name{}, initials: map[string]*family{},
		words: map[string]word{}, orgs: map[string]org{}, providers: map[string]string{},
		regions: map[string]bool{}, skip: map[string]bool{}, quants: map[string]bool{}, quantTails: map[string]bool{}, implied: map[string][]implied{},
	}
	err = doc.object(map[string]func(yamlNode) error{
		"families":    func(n yamlNode) error { return n.each(v.readFamily) },
		"words":       v.readWords,
		"orgs":        func(n yamlNode) error { return n.entries(v.readOrg) },
		"providers":   func(n yamlNode) error { return n.entries(v.readProvider) },
		"regions":     func(n yamlNode) error { return n.set(v.regions) },
		"skip":        func(n yamlNode) error { return n.set(v.skip) },
		"quants":      func(n yamlNode) error { return n.set(v.quants) },
		"implied":     func(n yamlNode) error { return n.each(v.readImplied) },
		"quant_tails": func(n yamlNode) error { return n.set(v.quantTails) },
	})
	return v, err
}

func (v *vocab) readFamily(n yamlNode) error {
	f := &family{rank: 1}
	var names, lines, initials []string
	err := n.object(map[string]func(yamlNode) error{
		"name":     func(n yamlNode) error { return n.text(&f.name) },
		"root":     func(n yamlNode) error { return n.text(&f.root) },
		"rank":     func(n yamlNode) error { return n.int(&f.rank) },
		"names":    func(n yamlNode) error { return n.texts(&names) },
		"lines":    func(n yamlNode) error { return n.texts(&lines) },
		"initials": func(n yamlNode) error { return n.texts(&initials) },
		"letters":  func(n yamlNode) error { return n.text(&f.letters) },
		"series":   func(n yamlNode) error { return n.text(&f.series) },
		"wide":     func(n yamlNode) error { return n.bool(&f.wide) },
		"last":     func(n yamlNode) error { return n.bool(&f.last) },
		"zero":     func(n yamlNode) error { return n.bool(&f.zero) },
		"numbered": func(n yamlNode) error { return n.bool(&f.numbered) },
		"examples": func(n yamlNode) error { return n.texts(&f.examples) },
	})
	if err != nil {
		return err
	}
	if f.name == "" {
		return n.errorf("a family needs a name")
	}
	if v.families[f.name] != nil {
		return n.errorf("family %s is there twice", f.name)
	}
	if len(names) == 0 {
		names = []string{f.name}
	}
	for _, s := range names {
		v.names[s] = name{family: f}
	}
	for _, s := range lines {
		v.names[s] = name{family: f, line: s}
		if _, ok := v.words[s]; !ok {
			v.addWord(s, heavy)
		}
	}
	for _, s := range initials {
		v.initials[s] = f
	}
	v.families[f.name] = f
	for i := range 10 {
		if f.numbered {
			f.members = append(f.members, fmt.Sprint(names[0], i))
			v.families[f.members[i]] = &family{name: f.members[i], root: f.name}
		}
	}
	v.order = append(v.order, f)
	return nil
}

func (v *vocab) addWord(s string, c class) {
	v.words[s] = word{text: s, index: len(v.words), class: c}
}

func (v *vocab) readWords(n yamlNode) error {
	classes := map[string]class{"heavy": heavy, "light": light, "silent": silent, "custom": custom}
	return n.entries(func(key string, n yamlNode) error {
		c, ok := classes[key]
		if !ok {
			return n.errorf("unknown class of words %q", key)
		}
		var words []string
		if err := n.texts(&words); err != nil {
			return err
		}
		for _, s := range words {
			if _, ok := v.words[s]; ok {
				return n.errorf("the word %s is there twice", s)
			}
			v.addWord(s, c)
		}
		if len(v.words) > 64*len(wordSet{}) {
			return n.errorf("more than %d words", 64*len(wordSet{}))
		}
		return nil
	})
}

func (v *vocab) readOrg(family string, n yamlNode) error {
	var orgs []string
	if err := n.texts(&orgs); err != nil {
		return err
	}
	f := v.families[family]
	if f == nil && family != "any" {
		return n.errorf("unknown family %q", family)
	}
	for _, s := range orgs {
		v.orgs[s] = org{name: s, family: f}
	}
	return nil
}

func (v *vocab) readProvider(host string, n yamlNode) error {
	var spellings []string
	if err := n.texts(&spellings); err != nil {
		return err
	}
	v.providers[host] = host
	for _, s := range spellings {
		v.providers[s] = host
	}
	return nil
}

func (v *vocab) readImplied(n yamlNode) error {
	var m implied
	var family string
	err := n.object(map[string]func(yamlNode) error{
		"family":  func(n yamlNode) error { return n.text(&family) },
		"version": func(n yamlNode) error { return n.version(&m.version) },
		"give":    func(n yamlNode) error { return n.version(&m.give) },
		"words":   func(n yamlNode) error { return v.wordSet(n, &m.words) },
		"without": func(n yamlNode) error { return v.wordSet(n, &m.without) },
		"orgs":    func(n yamlNode) error { return n.texts(&m.orgs) },
		"date":    func(n yamlNode) error { return n.int(&m.date) },
		"size":    func(n yamlNode) error { return n.size(&m.size) },
		"active":  func(n yamlNode) error { return n.size(&m.active) },
	})
	if err == nil && v.families[family] == nil {
		err = n.errorf("unknown family %q", family)
	}
	v.implied[family] = append(v.implied[family], m)
	return err
}

// wordSet reads words of the vocabulary.
func (v *vocab) wordSet(n yamlNode, s *wordSet) error {
	var words []string
	if err := n.texts(&words); err != nil {
		return err
	}
	for _, w := range words {
		known, ok := v.words[w]
		if !ok {
			return n.errorf("unknown word %q", w)
		}
		s.add(known.index)
	}
	return nil
}
