package mcp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/mcptest"
)

// TestMCPLogin logs in without a local browser, uses the server and logs out. No token is printed.
func TestMCPLogin(t *testing.T) {
	a := mcptest.NewAuthority(t, mcptest.Ordinary(), "")
	mcpHome(t, fmt.Sprintf("mcp_servers:\n  mine:\n    url: %s\n%s", a.URL, programtest.ServerYAML("one", "ordinary")))
	programtest.Must(t, programtest.Run(t, "", "mcp", "status"), 0, "mine  no login")
	programtest.Must(t, programtest.Run(t, "", "mcp", "tools", "mine"), 1, "toolpost mcp login mine")
	r := pasteLogin(t)
	programtest.Must(t, r, 0, "Open this address", "logged in to mine")
	programtest.Must(t, programtest.Run(t, "", "mcp", "status", "mine"), 0, "logged in at 127.0.0.1", "renewed by itself")
	used := programtest.Run(t, "", "mcp", "call", "mine", "echo", `{"text":"hello"}`, "--yes", "--json")
	programtest.Must(t, used, 0, "hello")
	for _, out := range []string{r.Out + r.ErrOut, used.Out + used.ErrOut, programtest.Run(t, "", "mcp", "status", "--json").Out} {
		if strings.Contains(out, "access-") || strings.Contains(out, "refresh-") {
			t.Errorf("a token is shown: %s", out)
		}
	}
	programtest.Must(t, programtest.Run(t, "", "mcp", "logout", "mine"), 0, "logged out")
	programtest.Must(t, programtest.Run(t, "", "mcp", "logout", "mine"), 1, "there is no login")
	programtest.Must(t, programtest.Run(t, "", "mcp", "login", "mien"), 2, "did you mean mine?")
	programtest.Must(t, programtest.Run(t, "", "mcp", "login", "one"), 1, "is a program")
	programtest.Must(t, programtest.Run(t, "", "mcp", "login", "mine", "--client-secret-env", "NOT_SET"), 2, "needs --client-id")
}

// pasteLogin runs login --paste and pastes the address of the redirect.
func pasteLogin(t *testing.T) programtest.Result {
	t.Helper()
	var out, errOut bytes.Buffer
	in := &answering{answer: func() string {
		_, rest, ok := strings.Cut(errOut.String(), "browser:\n\n")
		address, _, whole := strings.Cut(rest, "\n")
		if !ok || !whole {
			t.Errorf("it says %s", errOut.String())
		}
		ended := ""
		client := &http.Client{CheckRedirect: func(req *http.Request, _ []*http.Request) error {
			ended = req.URL.String()
			return http.ErrUseLastResponse
		}}
		resp, err := client.Get(address)
		if err != nil {
			t.Error(err)
			return "\n"
		}
		resp.Body.Close()
		return ended + "\n"
	}}
	code := program.Run(t.Context(), []string{"mcp", "login", "mine", "--paste"}, in, &out, &errOut)
	return programtest.Result{Code: code, Out: out.String(), ErrOut: errOut.String()}
}

// answering is an input that is created at the first read.
type answering struct {
	answer func() string
	text   io.Reader
}

func (a *answering) Read(b []byte) (int, error) {
	if a.text == nil {
		a.text = strings.NewReader(a.answer())
	}
	return a.text.Read(b)
}
