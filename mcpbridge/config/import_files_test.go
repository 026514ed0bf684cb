package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the expected files")

// TestImportFilesOfClients reads files as the clients of other projects write them. Each file has what is imported, and
// what is left out with the remedy.
func TestImportFilesOfClients(t *testing.T) {
	files, err := filepath.Glob("testdata/import/*.*[^t]")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".want") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			servers, err := ReadServers(text)
			for _, s := range servers {
				entry, err := json.Marshal(s.Entry)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "%s %s\n", s.Name, entry)
				for _, n := range s.Notes {
					fmt.Fprintf(&b, "  %s\n", n)
				}
			}
			var bad BadServers
			if err != nil && !errors.As(err, &bad) {
				t.Fatal(err)
			}
			for _, e := range bad {
				fmt.Fprintf(&b, "not imported, line %d: %v\n", e.Line, e.Err)
			}
			want, err := os.ReadFile(file + ".want")
			if *update {
				err = os.WriteFile(file+".want", []byte(b.String()), 0o600)
				want = []byte(b.String())
			}
			if err != nil || b.String() != string(want) {
				t.Errorf("it is\n%s\nwant\n%s%v", b.String(), want, err)
			}
		})
	}
}

// A tool that the file of another program disables is not used here.
func TestDisabledToolsStayDisabled(t *testing.T) {
	servers, err := ReadServers([]byte(`{"mcpServers":{"a":{"command":"x","disabledTools":["rm"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c := servers[0].Entry.Config("a"); c.Uses("rm") || !c.Uses("ls") {
		t.Errorf("%+v", c)
	}
}

func TestTOMLThatIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[[mcp_servers.a]\ncommand = \"x\"":                                   "line 1: the name of a table has no end",
		"[mcp_servers.a]\ncommand = \"x":                                      "line 2: text has no closing quote",
		"[mcp_servers.a]\ncommand = x":                                        `line 2: "x" is not a value of TOML`,
		"[mcp_servers.a]\ncommand = \"x\"\ncommand = \"y\"":                   "line 3: command is there twice",
		"[mcp_servers.a]\nargs = [1, 2\n":                                     "line 3: a list has no end",
		"[mcp_servers]\na = 1\n[mcp_servers.a]\n":                             "line 3: a is not a table",
		"a = " + strings.Repeat("[", 200):                                     "line 1: more than 100 levels",
		"[mcp_servers.a]\ncommand = \"x\" y":                                  "line 2: a line of TOML has one value",
		"[mcp_servers.a]\ncommand = \"a\\q\"":                                 `line 2: \q is not an escape of TOML`,
		"[mcp_servers.a]\ncommand = \"x\"\nstartup_timeout_sec = \"later\"\n": "line 3: a: startup_timeout_sec is a number of seconds",
	} {
		if _, err := ReadServers([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestTOMLValues(t *testing.T) {
	servers, err := ReadServers([]byte("# ours\nmcp_servers.\"a\".command = '''C:\\bin\\x'''\r\n[mcp_servers.a]\nargs = [\"\\u00e9\\t\", \"\"\"\na\\\n   b\"\"\", 'c#d']\nenv = {A = 1_0, C = true}\n[[profiles]]\nname = \"x\"\n[[profiles]]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q %q %v", servers[0].Entry.Command, servers[0].Entry.Args, servers[0].Entry.Env); got != `"C:\\bin\\x" ["é\t" "ab" "c#d"] map[A:1_0 C:true]` {
		t.Error(got)
	}
}
