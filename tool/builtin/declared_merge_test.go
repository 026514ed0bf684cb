package builtin_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/tool/builtin"
)

// TestDeclaredMerges checks that merge keys of YAML are read as YAML means them: a key of a mapping itself comes before one that it merges, wherever the merge
// stands, and of several mappings the first that has a key does.
func TestDeclaredMerges(t *testing.T) {
	const base = `tools:
  - &one
    name: first
    description: one
    command: [echo, one]
  - &two
    name: second
    description: two
    timeout: 5s
    command: [echo, two]
`
	for text, want := range map[string]string{
		"  - {<<: *one, name: third, description: own}\n":             "third own echo one",
		"  - {name: third, description: own, <<: *one}\n":             "third own echo one",
		"  - {name: third, <<: [*one, *two]}\n":                       "third one echo one",
		"  - {<<: [*two, *one], name: third}\n":                       "third two echo two",
		"  - name: third\n    <<: *two\n    command: [echo, three]\n": "third two echo three",
	} {
		all, err := builtin.ParseDeclared([]byte(base + text))
		if err != nil || len(all) != 3 {
			t.Fatalf("%s: %d tools, %v", text, len(all), err)
		}
		d := all[2]
		if got := d.Name + " " + d.Description + " " + strings.Join(d.Command, " "); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}
