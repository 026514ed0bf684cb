package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// wellFormed returns the text content of an XML document, and fails if it is malformed.
func wellFormed(t *testing.T, text []byte) string {
	t.Helper()
	var said strings.Builder
	dec := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return said.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if chars, ok := token.(xml.CharData); ok {
			said.Write(chars)
		}
	}
}

func TestDraw(t *testing.T) {
	said := wellFormed(t, draw([]string{"$ a <b> & \x1b[1mbold\x1b[0m\n\x1b[31mred\x1b[39m \x01 x", "$ done"}, 20, 3))
	for _, want := range []string{"$ a <b> & ", "bold", "red", "$ done"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
	if got := colour(` class="b"`, "31;2"); got != ` class="b c31 d"` {
		t.Error(got)
	}
}

// TestThePictureOfTheDocuments: the picture shows all scenes of the demo and no mistake. A test of the command compares
// its statements with the demo.
func TestThePictureOfTheDocuments(t *testing.T) {
	text, err := os.ReadFile("../../../docs/pictures/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	said := wellFormed(t, text)
	for _, want := range []string{"$ toolpost demo", "1 of 6", "6 of 6", "[y]es once", "→ refused"} {
		if !strings.Contains(said, want) {
			t.Errorf("the picture does not show %q; go run ./cmd/toolpost/picture docs/pictures", want)
		}
	}
	if strings.Contains(said, "scene 1 of the demo:") || len(text) > 100_000 {
		t.Errorf("%d bytes:\n%s", len(text), said)
	}
}

// TestLastScene: a screen is cut to its last scene.
func TestLastScene(t *testing.T) {
	got := lastScene("$ toolpost demo\nintro\n\n\x1b[1m1 of 6  One\x1b[0m\na\n\n\x1b[1m2 of 6  Two\x1b[0m\nb\n\n\x1b[2mEnter: next, q: end\x1b[0m\n\n")
	if want := "$ toolpost demo\n\n\x1b[1m2 of 6  Two\x1b[0m\nb"; got != want {
		t.Errorf("%q", got)
	}
}
