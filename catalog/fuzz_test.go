package catalog

import (
	"strings"
	"testing"
)

// FuzzParseID: any text is an id, means the same whatever its case, and has a
// family.
func FuzzParseID(f *testing.F) {
	for _, row := range idRows(idTable) {
		f.Add(row[0])
	}
	for _, odd := range []string{"", " ", "/", ":", "@", ".", "ft:", "a/b/c/d/e", "8x7b", "x1-", strings.Repeat("q4_", 300), "ｇｐｔ-4", "gpt-\x00", "us.us.us.", "v1:0", "-1-2-3-4-5-6b"} {
		f.Add(odd)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id := ParseID(s)
		if id.Family == "" || id.Raw != s || id.Size < 0 || id.Active < 0 {
			t.Errorf("%q: %+v", s, id)
		}
		if id.Known() != (vocabulary().families[id.Family] != nil) && id.Reason == "" {
			t.Errorf("%q: family %s has no reason", s, id.Family)
		}
		if again := ParseID(s); again != id {
			t.Errorf("%q is read in two ways", s)
		}
		if isASCII(s) {
			up := ParseID(strings.ToUpper(s))
			up.Raw = s
			if up != id {
				t.Errorf("%q depends on case:\n%+v\n%+v", s, id, up)
			}
		}
		if m := Default().lookup(s); m.Known() && m.why[fieldNativeTools] == 0 {
			t.Errorf("%q: known without a rule", s)
		}
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// FuzzUserFile: any file is accepted, or refused with its name; an accepted
// file works.
func FuzzUserFile(f *testing.F) {
	f.Add("models:\n  a: {native_tools: true unless thinking, context_window: 10}\n")
	f.Add("rules:\n  - name: x\n    match: {family: [a, b], version: \">=3 <4\", size: none, id: \"*x*\"}\n    set: {call_id: \"[a-z]{1,2}\", wire: chat}\n")
	f.Add("models: &a [*a]")
	f.Add("? - a\n: b")
	f.Add("{}")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Default().Load("models.yaml", []byte(s))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "models.yaml:") {
				t.Errorf("%q: no place in %v", s, err)
			}
			return
		}
		for _, id := range []string{"gpt-4o", "a", "ollama/a"} {
			if m := c.Lookup(id); m.ID.Family == "" || len(m.Explain()) != fieldCount {
				t.Errorf("%q: %s: %+v", s, id, m)
			}
		}
	})
}
