package formats

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/wire"
)

func TestCheck(t *testing.T) {
	for _, name := range wire.Formats() {
		if err := Check(name, wire.Formats()...); err != nil {
			t.Error(err)
		}
	}
	if err := Check("telegraph", append(wire.Formats(), "telegraph")...); err != nil {
		t.Errorf("a format of the program itself: %v", err)
	}
	for name, want := range map[string]string{
		"telegraph": `unknown format "telegraph"; the formats are ` + strings.Join(wire.Formats(), ", "),
		"convers":   `. Did you mean "converse"?`,
		"":          `unknown format ""; the formats are `,
	} {
		if err := Check(name, wire.Formats()...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
}
