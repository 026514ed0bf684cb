package testkit

import (
	"os"
	"testing"
)

// Page compares a page of the documentation with the text that a program makes of its tables. With TOOLPOST_UPDATE=1
// it writes the page.
func Page(t testing.TB, file, want string) {
	t.Helper()
	if os.Getenv("TOOLPOST_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s is not the generated text (%v): run TOOLPOST_UPDATE=1 go test . -run %s in this package and read the difference", file, err, t.Name())
	}
}
