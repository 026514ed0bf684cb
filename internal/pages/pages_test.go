package pages_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pages"
)

func TestCommands(t *testing.T) {
	fences := pages.Fences("text\n$ not this\n```console\n$ one\n$ two \\\n  more\nout\n…\n```\n```sh\n$ nor this\n```\n```\nopen")
	if len(fences) != 3 || fences[0].Kind != "console" || fences[0].Line != 4 || fences[1].Kind != "sh" || fences[1].Text != "$ nor this\n" || fences[2].Kind != "" || fences[2].Text != "open\n" {
		t.Fatalf("%+v", fences)
	}
	got := fences[0].Commands()
	if len(got) != 2 || got[0].Text != "one" || got[0].Output != nil || got[1].Text != "two \\\n  more" || len(got[1].Output) != 2 || got[1].Line != 5 {
		t.Errorf("%+v", got)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\nb", "a\nb", true}, {"a", "a\nb", false}, {"a\n…", "a\nb\nc", true}, {"…\nc", "a\nb\nc", true}, {"…\nb", "a\nb\nc", false}, {"a\n…", "a", true},
		{"x · 12 ms · y", "x · <1 ms · y", true}, {"x in 1.5 s", "x in 20 ms", true}, {"verify 20261115-174644-vfsbnbzo", "verify 20270101-000000-aaaaaaaa", true}, {"12 files", "13 files", false},
	} {
		if pages.Matches(strings.Split(c.want, "\n"), strings.Split(c.got, "\n")) != c.ok {
			t.Errorf("%q against %q", c.want, c.got)
		}
	}
}
