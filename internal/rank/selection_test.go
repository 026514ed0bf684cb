package rank

import (
	"os"
	"strings"
	"testing"
)

// selection is the development set, described in testdata/selection.txt.
type selection struct {
	tools    []corpusTool
	requests []request
}

type request struct {
	text  string
	tool  int
	words bool // it uses the tool's own words
}

func readSelection(t testing.TB) selection {
	t.Helper()
	data, err := os.ReadFile("testdata/selection.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s selection
	place := make(map[string]int)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if text, ok := strings.CutPrefix(line, "? "); ok {
			s.requests = append(s.requests, request{text, len(s.tools) - 1, false})
			continue
		}
		if text, ok := strings.CutPrefix(line, "! "); ok {
			name, text, _ := strings.Cut(text, " ")
			tool, ok := place[name]
			if !ok {
				t.Fatalf("no tool %s", name)
			}
			s.requests = append(s.requests, request{text, tool, true})
			continue
		}
		head, params, _ := strings.Cut(line, " | ")
		name, about, _ := strings.Cut(head, ": ")
		props := make(map[string]any)
		for _, p := range strings.Split(params, ", ") {
			props[p] = map[string]any{}
		}
		place[name] = len(s.tools)
		s.tools = append(s.tools, corpusTool{Name: name, Description: about, Parameters: map[string]any{"properties": props}})
	}
	return s
}

// The weights of the mix are chosen only by the figures that this test logs
// with -ingredients.
func TestSelectionDevelopmentSet(t *testing.T) {
	s := readSelection(t)
	if len(s.tools) < 300 || len(s.requests) < 800 {
		t.Fatalf("%d tools, %d requests", len(s.tools), len(s.requests))
	}
	x := indexOf(s.tools)
	score := func(m mix) (other, own [2]float64) {
		var n [2]float64
		for _, r := range s.requests {
			kind := &other
			if r.words {
				kind = &own
				n[1]++
			} else {
				n[0]++
			}
			for place, h := range x.search(r.text, nil, 5, m) {
				if h.Doc == r.tool {
					kind[1]++
					if place == 0 {
						kind[0]++
					}
				}
			}
		}
		for i := range 2 {
			other[i] /= n[0]
			own[i] /= n[1]
		}
		return other, own
	}
	mixes := []mix{both}
	if *ingredients {
		mixes = []mix{{1, 0}, {0, 1}, {1, 10}, {1, 20}, {1, 40}, {1, 80}, both}
	}
	for _, m := range mixes {
		other, own := score(m)
		t.Logf("words %g, meaning %2g: in other words @1 %.3f @5 %.3f, in its own words @1 %.3f @5 %.3f", m.words, m.meaning,
			other[0], other[1], own[0], own[1])
		if m == both && (other[1] < 0.49 || own[0] < 0.96) {
			t.Error("the mix has become worse")
		}
	}
}
