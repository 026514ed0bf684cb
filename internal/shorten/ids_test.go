package shorten

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// numbers returns different ids.
func numbers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(100003 + i*7919%899_981)
	}
	return out
}

// TestBareIDsAreShownWhole says that a concise view does not choose among ids that
// nothing tells apart, however the list is written.
func TestBareIDsAreShownWhole(t *testing.T) {
	ids := numbers(500)
	prose := strings.Repeat("The collection has been described in many places by many people over the years. ", 40)
	for name, text := range map[string]string{
		"a line":           "Total: 500\nIDs: " + strings.Join(ids, ", "),
		"lines":            "Total: 500\n" + strings.Join(ids, "\n"),
		"JSON":             `{"total": 500, "ids": [` + strings.Join(ids, ",\n  ") + `]}`,
		"a string of JSON": `{"content": [{"type": "text", "text": "Total: 500\nIDs: ` + strings.Join(ids, ", ") + `"}]}`,
		"beside prose":     `{"about": "` + prose + `", "ids": [` + strings.Join(ids, ", ") + `]}`,
	} {
		v := Result(text, Options{Mode: Concise})
		for _, id := range ids {
			if !strings.Contains(v.Text, id) {
				t.Errorf("%s: the view has lost %s:\n%.300s", name, id, v.Text)
				break
			}
		}
		if v := Result(text, Options{Mode: Minimal}); llm.EstimateText(v.Text) > 260 {
			t.Errorf("%s: the minimal view has %d tokens", name, llm.EstimateText(v.Text))
		}
	}
}

// TestOtherListsOfNumbersAreCut says which lists are not of ids, and that there is a
// bound for those that are.
func TestOtherListsOfNumbersAreCut(t *testing.T) {
	same := make([]string, 2000)
	short := make([]string, 2000)
	for i := range same {
		same[i], short[i] = fmt.Sprint(123456+i%2), fmt.Sprint(i%1000)
	}
	for name, list := range map[string][]string{"too many": numbers(20_000), "the same, in pairs": same, "measures": short} {
		for _, text := range []string{"[" + strings.Join(list, ", ") + "]", "IDs: " + strings.Join(list, ", "), strings.Join(list, "\n")} {
			if v := Result(text, Options{Mode: Concise}); llm.EstimateText(v.Text) > 2_100 || v.Whole {
				t.Errorf("%s: the view of %.30q has %d tokens, whole: %v", name, text, llm.EstimateText(v.Text), v.Whole)
			}
		}
	}
	text := "IDs: " + strings.Join(numbers(500), ", ")
	if v := Result(text, Options{Mode: Concise, Tokens: 100}); llm.EstimateText(v.Text) > 130 {
		t.Errorf("a bound of 100 tokens gives %d", llm.EstimateText(v.Text))
	}
}

// TestNamesInCutTexts says what is named of a text that is cut.
func TestNamesInCutTexts(t *testing.T) {
	const words = "it goes on with words that say nothing in particular and "
	for _, c := range []struct{ name, text, want, not string }{
		{"alternatives in quotes", words + words + "one of ('business', 'academic', 'creative') and " + words + words, "business, academic, creative", ""},
		{"several words in quotes", words + words + `called "the blue one" and ` + words + words, "the blue one", ""},
		{"quotes in Chinese", strings.Repeat("要查询的城市", 20) + `比如"北京|上海"。` + strings.Repeat("若要查询多个城市", 20), "北京|上海", ""},
		{"one character", strings.Repeat("过敏原列表", 20) + `如["大蒜", "虾"]。` + strings.Repeat("忌口食材列表", 20), "虾", ""},
		{"a person", words + words + "by Satoshi Nakamoto and " + words + words, "Satoshi Nakamoto", ""},
		{"a person at the cut", words + words + words + "by Satoshi Nakamoto.", "Satoshi Nakamoto", ""},
		{"a product", words + words + "the iPhone 16 Pro and " + words + words, "iPhone 16 Pro", ""},
		{"apostrophes", words + words + "the owner's keys and the dog's bone " + words + words, "", "s keys and the dog"},
		{"the start of a sentence", words + words + "done. However London " + words + words, "", "However"},
	} {
		got, cut := cutText(c.text, 60, nil)
		if !cut || !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q (cut: %v)", c.name, got, cut)
		}
	}
}

func TestPathsAreNotCut(t *testing.T) {
	for s, want := range map[string]bool{
		"/root/papers/PaLM-E, An Embodied Multimodal Language Model, Danny Driess et al., 2023, v1.pdf": true,
		"C:/Users/me/My Documents/a.txt":                             true,
		"This was seen in and/or near the file. See docs/a.txt":      false,
		"Failed: the file is gone from where it was, /root/a.txt":    false,
		"/root/" + strings.Repeat("folder/", 40) + "a.txt":           false,
		"either this/that or something that does not name a file":    false,
		"words before a path in the middle of a text docs/short.txt": false,
	} {
		if got := isPath(s); got != want {
			t.Errorf("isPath(%q) is %v", s, got)
		}
	}
}
