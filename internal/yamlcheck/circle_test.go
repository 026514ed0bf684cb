package yamlcheck_test

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/internal/yamlcheck"
)

// Circles are anchors that name themselves, each on its third line.
var circles = []string{
	"a: 1\nb: 2\nc: &c {d: *c}\n",
	"a: 1\nb: &b\n  - *b\n",
	"a: 1\nb: &b\n  <<: *b\n  c: 1\n",
	"a: 1\nb: &b\n  c: {<<: *b}\n",
	"a: &a {x: 1}\nb: 2\nc: &a {x: *a}\n",
	"a: &a\n  b: &b\n    c: [*a, *b]\n",
	"a: 1\nb: &b\n  *b : 1\n",
}

// TestCircles: an anchor inside its own value is an error with its line; readers would read the alias as null, or
// expand it forever.
func TestCircles(t *testing.T) {
	for _, text := range circles {
		var err error
		linear.Soon(t, text, func() { err = yamlcheck.Check([]byte(text)) })
		if err == nil || !strings.Contains(err.Error(), "line 3: *") || !strings.Contains(err.Error(), "names what it is a part of") {
			t.Errorf("%q: %v", text, err)
		}
		var into any
		if err := yamlcheck.Decode([]byte(text), &into); err == nil {
			t.Errorf("%q is read", text)
		}
		linear.Soon(t, text, func() { _, _ = yamlcheck.ParsePlain([]byte(text)) })
	}
	for _, text := range []string{"a: &a 1\nb: [*a]\nc: &a {d: 2}\ne: *a\n", "a: &a {x: 1}\nb: &b {y: *a}\nc: [*a, *b]\n"} {
		if err := yamlcheck.Check([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestParsePlain: anchored, aliased and merged values are in the right places.
func TestParsePlain(t *testing.T) {
	file, err := yamlcheck.ParsePlain([]byte("base: &base {x: 1, y: 2}\none: &one\n  <<: *base\n  y: 3\ntwo: *one\nlist: [*base]\n"))
	if err != nil {
		t.Fatal(err)
	}
	type xy struct{ X, Y int }
	for path, want := range map[string]xy{"$.base": {1, 2}, "$.one": {1, 3}, "$.two": {1, 3}, "$.list[0]": {1, 2}} {
		p, err := yaml.PathString(path)
		if err != nil {
			t.Fatal(err)
		}
		node, err := p.FilterFile(file)
		if err != nil {
			t.Fatal(path, err)
		}
		var got xy
		if err := yaml.NodeToValue(node, &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
}
