package wire_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/wire"
)

// TestUnknownMembersAreNotSilent adds a member that no format knows to each object of requests that use what each format
// knows: it is sent on, warned about or refused by its name.
func TestUnknownMembersAreNotSilent(t *testing.T) {
	for _, r := range goldenRequests(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, to := range wire.Formats() {
				silent, err := losses.Unknown(r.codec, to, r.body)
				if err != nil {
					t.Error(err)
				}
				for _, object := range silent {
					t.Errorf("→ %s: %s", to, object)
				}
			}
		})
	}
}

type goldenRequest struct {
	name  string
	codec wire.Codec
	body  []byte
}

// eachGolden calls f with every section of every golden file, with the name of its folder, which is a format or "agents", and its own.
func eachGolden(t *testing.T, f func(dir, name string, part txtar.File)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Base(filepath.Dir(file))
		for _, part := range ar.Files {
			f(dir, dir+"/"+filepath.Base(file), part)
		}
	}
}

// goldenRequests are the requests of all golden files and of coding agents, and [moreRequests].
func goldenRequests(t *testing.T) []goldenRequest {
	t.Helper()
	var list []goldenRequest
	eachGolden(t, func(dir, name string, part txtar.File) {
		format := part.Name
		if format == "request" {
			format = dir
		}
		if c, ok := wire.For(format); ok {
			list = append(list, goldenRequest{name, c, part.Data})
		}
	})
	for _, r := range moreRequests {
		list = append(list, goldenRequest{"more/" + r.codec.Format, r.codec, []byte(r.body)})
	}
	return list
}
