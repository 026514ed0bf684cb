package yamlcheck_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/toolpost/toolpost/internal/yamlcheck"
)

// TestParseMerges: a direct key of a mapping wins over a merged key, wherever the merge key is, for readers into
// structs and into maps.
func TestParseMerges(t *testing.T) {
	type settings struct {
		A int      `yaml:"a"`
		B int      `yaml:"b"`
		C []string `yaml:"c"`
	}
	base := "base: &base {a: 1, b: 2, c: [x]}\nother: &other\n  a: 10\n  c: [y]\n"
	for name, c := range map[string]struct{ text, want string }{
		"override after":    {base + "it:\n  <<: *base\n  a: 5\n", `{"A":5,"B":2,"C":["x"]}`},
		"override before":   {base + "it:\n  a: 5\n  <<: *base\n", `{"A":5,"B":2,"C":["x"]}`},
		"in braces":         {base + "it: {<<: *base, a: 5}\n", `{"A":5,"B":2,"C":["x"]}`},
		"nothing more":      {base + "it:\n  <<: *base\n", `{"A":1,"B":2,"C":["x"]}`},
		"quoted":            {base + "it:\n  <<: *base\n  \"a\": 5\n", `{"A":5,"B":2,"C":["x"]}`},
		"several":           {base + "it:\n  <<: [*other, *base]\n", `{"A":10,"B":2,"C":["y"]}`},
		"several, and own":  {base + "it:\n  <<: [*base, *other]\n  c: []\n", `{"A":1,"B":2,"C":[]}`},
		"of what is merged": {base + "more: &more\n  <<: *base\n  b: 7\nit:\n  <<: *more\n  a: 5\n", `{"A":5,"B":7,"C":["x"]}`},
		"one pair":          {"base: &base\n  a: 1\nit:\n  <<: *base\n  a: 2\n", `{"A":2,"B":0,"C":null}`},
		"a value in place":  {"it:\n  <<: {a: 1, b: 2}\n  a: 3\n", `{"A":3,"B":2,"C":null}`},
		"an alias within":   {"list: &list [z]\nbase: &base {a: 1, c: *list}\nit:\n  <<: *base\n  a: 2\n", `{"A":2,"B":0,"C":["z"]}`},
	} {
		file, err := yamlcheck.Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var into struct {
			List  []string `yaml:"list"`
			Base  settings `yaml:"base"`
			Other settings `yaml:"other"`
			More  settings `yaml:"more"`
			It    settings `yaml:"it"`
		}
		if err := yaml.NodeToValue(file.Docs[0].Body, &into, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := json.Marshal(into.It); string(got) != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		var tree map[string]any
		if err := yaml.NodeToValue(file.Docs[0].Body, &tree); err != nil {
			t.Errorf("%s: as a map: %v", name, err)
		}
		if it, _ := tree["it"].(map[string]any); it["a"] == nil || it["<<"] != nil {
			t.Errorf("%s: as a map: %v", name, tree["it"])
		}
	}
}

// TestParseRefuses: duplicate keys of a mapping are refused, and values that cannot be merged stay unmerged.
func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"twice":              "a: 1\na: 2\n",
		"twice, and a merge": "base: &base {a: 1}\nit:\n  <<: *base\n  b: 1\n  b: 2\n",
		"twice in braces":    "base: &base {a: 1}\nit: {<<: *base, b: 1, b: 2}\n",
		"no mapping":         "it:\n  <<: 5\n  a: 1\n",
		"a list of texts":    "base: &base [x]\nit:\n  <<: *base\n  a: 1\n",
		"nobody's name":      "it:\n  <<: *nobody\n  a: 1\n",
		"itself":             "it: &it\n  <<: *it\n  a: 1\n",
		"its own name":       "base: &base\n  *base\nit: {<<: *base}\n",
		"names in a circle":  "base: &base *other\na: &other *base\nit: {<<: *base}\n",
	} {
		file, err := yamlcheck.Parse([]byte(text))
		if err == nil {
			var into struct {
				Base any            `yaml:"base"`
				A    int            `yaml:"a"`
				It   map[string]int `yaml:"it"`
			}
			err = yaml.NodeToValue(file.Docs[0].Body, &into, yaml.Strict(), yaml.DisallowUnknownField())
		}
		if err == nil {
			t.Errorf("%s is read", name)
		} else if strings.HasPrefix(name, "twice") && !strings.Contains(err.Error(), "already defined") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
