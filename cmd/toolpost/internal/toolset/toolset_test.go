package toolset

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

func TestOfferedTools(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"own.yaml":   "- name: count\n  description: Count.\n  command: [wc]\n- name: read_file\n  description: In other words.\n- name: write_file\n  description: Not offered now.\n",
		"twice.yaml": "- {name: read_file, command: [cat]}\n",
		"idle.yaml":  "- {name: idle, description: Nobody does it.}\n",
		"empty.yaml": "tools: []\n",
	})
	for _, c := range []struct{ why, allow, tools, want string }{
		{"only reading", "", "", "list_files read_file search_files"},
		{"writing", "write", "", "list_files read_file search_files write_file edit_file"},
		{"everything", "net,exec,write", "", "list_files read_file search_files write_file edit_file run_command fetch_url web_search"},
		{"tools of one's own", "", "own.yaml", "list_files read_file search_files count"},
		{"a tool never hides another", "", "twice.yaml", "error: twice.yaml: read_file is there already"},
		{"a tool that nobody does", "", "idle.yaml", "error: idle.yaml: idle has neither a command nor an http"},
		{"a file without tools", "", "empty.yaml", "error: empty.yaml: it has no tools"},
		{"a file that is not there", "", "nowhere.yaml", "error: nowhere.yaml: open"},
	} {
		s := &settings.ToolOptions{Root: ".", Allow: strings.FieldsFunc(c.allow, func(r rune) bool { return r == ',' }), Tools: strings.Fields(c.tools)}
		set, done, err := Open(s)
		got := "error: "
		if err != nil {
			got += err.Error()
		} else {
			got = strings.Join(set.Names(), " ")
			done()
		}
		if !strings.HasPrefix(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s: %s", c.why, got)
		}
		if c.tools == "own.yaml" && err == nil {
			if f, _ := set.Lookup("read_file"); f.Description != "In other words." {
				t.Errorf("read_file is still described as %q", f.Description)
			}
		}
	}
}
