package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// The file tools see one folder. Whatever a model writes as a path, it cannot
// leave it.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("remember the milk\n"), 0o644)

	files, err := builtin.OpenFiles(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer files.Close()
	set := tool.MustSet(files.Tools()...)
	read, _ := set.Lookup("read_file")

	out, err := read.Run(context.Background(), []byte(`{"path":"notes.txt"}`))
	fmt.Print(out.Parts[0].(llm.Text).Text)
	fmt.Println(err)
	_, err = read.Run(context.Background(), []byte(`{"path":"../../etc/passwd"}`))
	fmt.Println(err)
	// Output:
	// remember the milk
	// <nil>
	// permission: ../../etc/passwd leads out of the working folder
}
