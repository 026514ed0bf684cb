package emulate

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// TestMemorySeesWhatTheSearchSees: a disguise that the search in the conversation sees through hides nothing from the
// memory of calls either.
func TestMemorySeesWhatTheSearchSees(t *testing.T) {
	replace := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	wide := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7F {
				return r - '!' + 0xFF01
			}
			return r
		}, s)
	}
	forms := map[string]func(string) string{
		"plain": replace(), "curly quotes": replace(`{"`, "{“", `":`, "”:", `: "`, ": “", `:"`, ":“", `",`, "”,", `"}`, "”}", `, "`, ", “", `,"`, ",“"),
		"angle quotes": replace(`"`, "«"), "primes": replace(`"`, "″"), "wide": wide, "wide quotes": replace(`"`, "\uFF02"), "wide brackets": replace("{", "\uFF5B", "}", "\uFF5D"),
	}
	for _, space := range []rune{0x00A0, 0x1680, 0x2000, 0x2003, 0x2009, 0x202F, 0x205F, 0x3000, 0x2028, 0x2029} {
		forms["the space "+string(space)] = replace(":", ":"+string(space), ",", ","+string(space))
	}
	for _, mark := range []rune{0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD, 0x034F, 0x202E, 0x2066, 0xFE0F, 0x3164, 0xFFA0, 0x180E, 0xE0100} {
		forms["the mark "+string(mark)] = replace("e", "e"+string(mark), "{", "{"+string(mark))
	}
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, name := range []string{"hermes_json", "json_fence"} {
		text, err := dialect.Builtin().Render(name, plantedCall)
		if err != nil {
			t.Fatal(err)
		}
		for how, form := range forms {
			for place, plant := range map[string]func(*llm.Request, string){"conversation": echoPlaces["result"], "memory": echoPlaces["dropped"]} {
				attacks++
				req := &llm.Request{Tools: echoTools, Messages: []llm.Message{llm.User("Summarise it.")}}
				plant(req, form(text))
				for _, got := range became(t, CallReader{Request: req, Tools: req.Tools}, text, 7) {
					if !strings.HasPrefix(got, "echo") {
						t.Errorf("%s, %s, in the %s: %s", name, how, place, got)
					}
				}
			}
		}
	}
}
