package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// A plan describes the effects of a call and has none.
func TestPlans(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := builtin.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	declared, err := builtin.ParseDeclared([]byte(`[{"name":"touch","description":"x","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"command":["touch","{path}"]},
{"name":"order","description":"x","parameters":{"type":"object","properties":{"id":{"type":"string"}}},"http":{"url":"https://shop.example/orders/{id}"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	tools := append(files.Tools(), builtin.Command{Dir: dir}.Tool(), builtin.Fetch{}.Tool())
	for _, d := range declared {
		own, err := d.Tool(builtin.Command{Dir: dir}, "own.json")
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, own)
	}
	set := tool.MustSet(tools...)
	if read, _ := set.Lookup("read_file"); true {
		if _, err := read.Call(t.Context(), json.RawMessage(`{"path":"a.txt"}`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, args string
		want       tool.Preview
		fails      string
	}{
		{"write_file", `{"path":"new/b.txt","content":"x\n"}`, tool.Preview{Files: []tool.FileChange{{Path: "new/b.txt", New: true, After: "x\n"}}}, ""},
		{"write_file", `{"path":"./a.txt","content":"x\n","overwrite":true}`, tool.Preview{Files: []tool.FileChange{{Path: "a.txt", Before: "one\ntwo\n", After: "x\n"}}}, ""},
		{"write_file", `{"path":"a.txt","content":"x\n"}`, tool.Preview{}, "exists"},
		{"write_file", `{"path":"../a.txt","content":"x\n"}`, tool.Preview{}, "a.txt"},
		{"edit_file", `{"path":"a.txt","old_text":"two","new_text":"three"}`, tool.Preview{Files: []tool.FileChange{{Path: "a.txt", Before: "one\ntwo\n", After: "one\nthree\n"}}}, ""},
		{"edit_file", `{"path":"a.txt","old_text":"four","new_text":"three"}`, tool.Preview{}, "does not stand in"},
		{"run_command", `{"program":"sh","args":["-c","echo a b"],"input":"in"}`, tool.Preview{Command: []string{"sh", "-c", "echo a b"}, Dir: dir, Input: "in", AnyProgram: true}, ""},
		{"fetch_url", `{"url":"https://go.dev/"}`, tool.Preview{Request: "GET https://go.dev/"}, ""},
		{"touch", `{"path":"c d"}`, tool.Preview{Command: []string{"touch", "c d"}, Dir: dir, Input: `{"path":"c d"}`}, ""},
		{"order", `{"id":"a/b"}`, tool.Preview{Request: "POST https://shop.example/orders/a%2Fb"}, ""},
	} {
		tl, _ := set.Lookup(c.name)
		got, err := tl.Preview(t.Context(), json.RawMessage(c.args))
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s %s: %v", c.name, c.args, err)
			}
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s %s: %v\n%s", c.name, c.args, err, d)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("planning changed something: %v %v", entries, err)
	}
}

// A file that changes between the question and the call is not overwritten,
// because the person saw other content. Writes of the tools themselves do not
// count.
func TestAFileThatChangedAfterItsPlan(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	files, err := builtin.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	write, _ := tool.MustSet(files.Tools()...).Lookup("write_file")
	args := json.RawMessage(`{"path":"a.txt","content":"mine\n","overwrite":true}`)
	for _, before := range []string{"theirs\n", "other\n"} {
		if _, err := write.Preview(t.Context(), args); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := write.Call(t.Context(), args); err == nil || !strings.Contains(err.Error(), "approved") {
			t.Errorf("after %q: %v", before, err)
		}
	}
	for range 2 {
		if _, err := write.Preview(t.Context(), args); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := write.Call(t.Context(), args); err != nil {
			t.Error(err)
		}
	}
}
