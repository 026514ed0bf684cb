package near

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	names := []string{"read_file", "write_file", "files__list_dir", "get_weather", "book.flight"}
	for _, c := range []struct{ name, want string }{
		{"get_wether", "get_weather"},
		{"Get-Weather", "get_weather"},
		{"raed_file", "read_file"},
		{"functions.read_file", "read_file"},
		{"list_dir", "files__list_dir"},
		{"launch_rocket", ""},
		{"", ""},
		{"x", ""},
		{strings.Repeat("get_weather", 1000), ""},
	} {
		if got := Names(c.name, names, 2); strings.Join(got, " ") != c.want {
			t.Errorf("like %.20q are %q, want %q", c.name, got, c.want)
		}
	}
	if got := Names("read_file", slices.Repeat([]string{"read_file"}, 5), 3); len(got) != 3 {
		t.Errorf("more than asked for: %q", got)
	}
}
