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

// The picture in the documents shows the session, and no mistake.
func TestThePictureOfTheDocuments(t *testing.T) {
	text, err := os.ReadFile("../../../docs/session.svg")
	if err != nil {
		t.Fatal(err)
	}
	said := wellFormed(t, text)
	for _, command := range session {
		if !strings.Contains(said, command) {
			t.Errorf("the picture does not show %s; go run ./cmd/toolpost/picture docs/session.svg", command)
		}
	}
	if strings.Contains(said, "toolpost: ") || len(text) > 100_000 {
		t.Errorf("%d bytes:\n%s", len(text), said)
	}
}
