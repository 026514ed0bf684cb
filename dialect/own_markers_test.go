package dialect

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/llm"
)

// ownMarkers are the pieces of markup that a dialect writes, with those of CDATA.
func ownMarkers(d spec.Dialect) []string {
	out := []string{"]]>", "<![CDATA[", "<![CDATA[x]]>", "<value>", "</value>"}
	fill := strings.NewReplacer("$key", "s", "$name", "say", "$args", "\x00", "$value", "\x00", "$type", "string", "$string", "true", "$attr", ` name="s"`, "$id", "0")
	for _, text := range []string{d.Write.Param, d.Write.Node, d.Write.Call, d.Write.Open, d.Write.Close, d.Write.Delim, d.Write.Think.Open, d.Write.Think.Close, d.Write.End} {
		for piece := range strings.SplitSeq(fill.Replace(text), "\x00") {
			if piece = strings.TrimSpace(piece); piece != "" {
				out = append(out, piece)
			}
		}
	}
	return out
}

// A value that holds the markup of its dialect, end tags above all, is written
// so it reads back the same, or refused with an error that tells why. Short runs try each value in one of three places.
func TestOwnMarkersInValues(t *testing.T) {
	t.Parallel()
	written, refused := 0, map[string]int{}
	for _, d := range Builtin().All() {
		if d.Write.Call == "" {
			continue
		}
		for _, m := range ownMarkers(d) {
			for i, value := range []string{m, "a" + m + "b", "a" + m, m + "b", "x " + m + m + " y", "a\n" + m + "\nb", "if a < b {" + m + "}"} {
				for k, args := range []map[string]any{{"s": value}, {"s": "x", "o": map[string]any{"k": value}}, {"s": value, "l": []any{"x", value}}} {
					if (i+len(m)+k)%3 != 0 && !testkit.IsLong() {
						continue
					}
					raw, err := json.Marshal(args)
					if err != nil {
						t.Fatal(err)
					}
					text, err := Builtin().Render(d.Name, llm.Call{ID: "c", Name: "say", Args: raw})
					if err != nil {
						if llm.KindOf(err) != llm.Invalid || errors.Unwrap(err) == nil || !strings.Contains(err.Error(), "markup") {
							t.Errorf("%s, %s: %v", d.Name, raw, err)
						}
						refused[d.Name]++
						continue
					}
					written++
					got := readAgain(t, Parser{Tools: hardTools, Dialect: d.Name}, Cut(text, 3))
					if len(got.Calls) != 1 || got.Calls[0] != "say "+canonical(t, raw) {
						t.Errorf("%s: %s became %v\n%s", d.Name, raw, got.Calls, text)
					}
				}
			}
		}
	}
	t.Logf("%d written, refused %v", written, refused)
}
