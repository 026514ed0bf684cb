package catalog

import "strings"

// file is the content of a file of rules: an embedded one or models.yaml.
type file struct {
	rules []rule
	exact map[string]exact
}

// exact is the entry for one id.
type exact struct {
	rule rule
	base string // the id it is another name for; empty if none
}

// parseFile reads a file of rules. Errors give file and line.
func parseFile(name string, data []byte) (*file, error) {
	doc, err := readYAML(name, data)
	if err != nil {
		return nil, err
	}
	f := &file{exact: map[string]exact{}}
	err = doc.object(map[string]func(yamlNode) error{
		"rules":  func(n yamlNode) error { return n.each(f.readRule) },
		"models": func(n yamlNode) error { return n.entries(f.readExact) },
	})
	return f, err
}

func (f *file) readRule(n yamlNode) error {
	r := rule{}
	var note string
	err := n.object(map[string]func(yamlNode) error{
		"name":  func(n yamlNode) error { return n.text(&r.name) },
		"note":  func(n yamlNode) error { return n.text(&note) },
		"match": func(n yamlNode) error { return r.when.read(n) },
		"set":   func(n yamlNode) error { return n.settings(&r.set) },
	})
	if err != nil {
		return err
	}
	r.from = n.place()
	r.host = r.when.providers != nil && r.when.families == nil
	if r.name == "" {
		r.name = "rule at line " + r.from[strings.LastIndexByte(r.from, ':')+1:]
	}
	if len(r.set) == 0 {
		return n.errorf("a rule needs something to set")
	}
	f.rules = append(f.rules, r)
	return nil
}

// readExact reads the entry for one id: settings, and the base it inherits
// from.
func (f *file) readExact(id string, n yamlNode) error {
	e := exact{rule: rule{name: id, from: n.place()}}
	err := n.entries(func(key string, v yamlNode) error {
		if key == "base" {
			return v.text(&e.base)
		}
		return v.setKey(key, "base, ", &e.rule.set)
	})
	if err != nil {
		return err
	}
	key := foldID(id)
	if _, twice := f.exact[key]; twice {
		return n.errorf("the model %q is there twice", id)
	}
	if len(e.rule.set) == 0 && e.base == "" {
		return n.errorf("nothing is said about %q", id)
	}
	f.exact[key] = e
	return nil
}

func (n yamlNode) settings(set *[]setting) error {
	return n.entries(func(key string, v yamlNode) error { return v.setKey(key, "", set) })
}

// setKey reads one setting; others lists the additional keys, for errors.
func (n yamlNode) setKey(key, others string, set *[]setting) error {
	i, ok := findField(key)
	if !ok {
		return n.errorf("unknown key %q; known: %s%s", key, others, fieldNames())
	}
	s, err := n.setting(i)
	*set = append(*set, s)
	return err
}

// read reads which ids a rule is about.
func (m *match) read(n yamlNode) error {
	return n.object(map[string]func(yamlNode) error{
		"family":   func(n yamlNode) error { return n.texts(&m.families) },
		"provider": func(n yamlNode) error { return n.texts(&m.providers) },
		"org":      func(n yamlNode) error { return n.texts(&m.orgs) },
		"variant":  m.readVariants,
		"without":  func(n yamlNode) error { return vocabulary().wordSet(n, &m.without) },
		"version": func(n yamlNode) error {
			return n.bounds(&m.version, &m.plain, versionBound)
		},
		"revision": func(n yamlNode) error { return n.bounds(&m.revision, nil, versionBound) },
		"size":     func(n yamlNode) error { return n.bounds(&m.size, &m.unsized, sizeBound) },
		"custom": func(n yamlNode) error {
			s, err := n.setting(fieldNativeTools)
			m.custom = s.answer
			return err
		},
		"id": func(n yamlNode) error { return n.text(&m.id) },
	})
}

// readVariants reads words. Words of the vocabulary match anywhere in an id,
// others only as the whole variant.
func (m *match) readVariants(n yamlNode) error {
	var list []string
	if err := n.texts(&list); err != nil {
		return err
	}
	for _, s := range list {
		if w, ok := vocabulary().words[s]; ok {
			m.words.add(w.index)
		} else {
			m.variants = append(m.variants, s)
		}
	}
	return nil
}

// bounds reads comparisons; "none" demands that the id lacks the value.
func (n yamlNode) bounds(all *[]bound, none *bool, read func(string, *bound) error) error {
	var s string
	if err := n.text(&s); err != nil {
		return err
	}
	if none != nil && s == "none" {
		*none = true
		return nil
	}
	var err error
	if *all, err = parseBounds(s, read); err != nil {
		return n.errorf("%w", err)
	}
	return nil
}
