package builtin_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/tool/builtin"
)

// TestDeclaredMerges checks that merge keys are read as YAML defines them: a direct key of a mapping wins over a merged
// key, wherever the merge is, and of several merged mappings the first that has a key wins.
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
