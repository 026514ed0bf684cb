package wording

import (
	"encoding/json"
	"testing"
)

func TestNumbersIn(t *testing.T) {
	for text, want := range map[string]string{
		"a=3, b = -11 and c=-4.":            "3 -11 -4",
		"$1,234.50 and 10,000":              "1234.5 10000",
		"213 million in 2022":               "213000000 2022",
		"8.5 million km":                    "8500000",
		"a rate of 5%":                      "5 0.05",
		"twenty minutes, two thousand feet": "20 2000",
		"1-10, H2O, 2023-05-01":             "1 10 2023 5",
		"next week":                         "1 7",
		"in 3 weeks":                        "3",
		"5 percent":                         "5 0.05",
		"no number":                         "",
		"10k run":                           "10000",
	} {
		got := ""
		for i, n := range Numbers(text) {
			if i > 0 {
				got += " "
			}
			got += n.Text
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzNumbersIn(f *testing.F) {
	f.Add("a=-3, 10,000 and 5% of 2 million in H2O")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range Numbers(text) {
			if !json.Valid([]byte(n.Text)) {
				t.Errorf("%q gives %q, which is no JSON number", text, n.Text)
			}
		}
	})
}
