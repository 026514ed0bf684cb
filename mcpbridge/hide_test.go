package mcpbridge_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/tool"
)

// TestSecretsInDefinitions: a server that knows a secret of ours does not bring it on
// the screen or to disk, wherever it puts it.
func TestSecretsInDefinitions(t *testing.T) {
	t.Parallel()
	const secret = "hush-0123456789"
	secrets := &journal.Secrets{Values: []string{secret}}
	dir := t.TempDir()
	list := fmt.Sprintf(listWith, `{"name":"`+secret+`","inputSchema":{}},{"name":"bad name `+secret+`","inputSchema":{}},`+
		`{"name":"f","inputSchema":{"type":"object","description":"`+secret+`"}},{"name":"good","title":"`+secret+`","description":"Key `+secret+`.","inputSchema":{"type":"object"}}`)
	s, told := open(t, client.Options{Dir: dir, Secrets: secrets}, scripted(t, "one", mcptest.Script{List: list,
		Call: `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no ` + secret + `"}}`}))
	set := toolsOf(t, s)
	if got := strings.Join(set.Names(), " "); got != "one__good" {
		t.Errorf("the tools are %s", got)
	}
	_, err := call(t, set, "one__good", "{}")
	defs, _ := s.Definitions("one")
	seen := fmt.Sprint(told, set.Defs(), defs, err, s.Status())
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		seen += string(text)
	}
	if len(files) == 0 || strings.Contains(seen, secret) || !strings.Contains(seen, "Key [stripped:value].") {
		t.Errorf("what is seen is %s", seen)
	}

	s, told = open(t, client.Options{Secrets: secrets}, scripted(t, "two", mcptest.Script{Initialize: `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"no ` + secret + `"}}`}))
	err = s.Connect(context.Background(), "two")
	if seen := fmt.Sprint(told, err, s.Status()); err == nil || strings.Contains(seen, secret) || !strings.Contains(seen, "stripped:value") {
		t.Errorf("of a handshake that failed is seen: %s", seen)
	}
}

// TestPartsOfSecrets: a secret is found before a text is shortened, and after what a
// terminal obeys was taken out of it.
func TestPartsOfSecrets(t *testing.T) {
	const secret = "hush-0123456789"
	secrets := &journal.Secrets{Values: []string{secret}}
	for name, message := range map[string]string{
		"cut":       strings.Repeat("x", 590) + secret,
		"separated": `hush-0123\u0007456789`,
	} {
		s, told := open(t, client.Options{Secrets: secrets}, scripted(t, "two", mcptest.Script{Initialize: `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"` + message + `"}}`}))
		err := s.Connect(context.Background(), "two")
		if seen := fmt.Sprint(told, err, s.Status()); err == nil || strings.Contains(seen, "hush-") {
			t.Errorf("%s: it is seen: %s", name, seen)
		}
		s.Close()
	}
}

// TestAServersWordsAreNoRefusal: a tool that ran and says "access denied" was not
// refused by us.
func TestAServersWordsAreNoRefusal(t *testing.T) {
	t.Parallel()
	s, _ := open(t, client.Options{}, stdio("one", "ordinary"))
	_, err := call(t, toolsOf(t, s), "one__fail", `{"text":"Access denied"}`)
	if e := tool.FromError(err); e == nil || e.Code != tool.Execution || !strings.Contains(e.Message, "Access denied") {
		t.Errorf("it returned %v", err)
	}
}
