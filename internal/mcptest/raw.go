package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// raw is a server without an SDK: it completes the handshake and answers
// tools/list and tools/call from its scripts. Arg is the name of a file of
// them.
func raw(arg string) {
	text, err := os.ReadFile(arg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var script Script
	if err := json.Unmarshal(text, &script); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	script.run()
}

// Script holds the answers of a raw server: JSON in which "ID" is replaced by
// the id of the request and "CURSOR" by an unused cursor. An empty text means
// no answer; other text than JSON is written unchanged.
type Script struct {
	Initialize, List, Call string
	// Silent are methods that are not answered.
	Silent []string
	// Closes ends standard output, and not the server, instead of answering a call.
	Closes bool
	// Starts, if it is not empty, is a file that grows by a byte at each start.
	Starts string
	// Grow repeats the text of Pad after "PAD" in answers, which keeps scripts
	// short.
	Pad  string
	Grow int

	until string // the last method that is read
}

// Write writes the script to a file and returns the kind of server that follows it.
func (s Script) Write(file string) (kind string, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return "raw:" + file, os.WriteFile(file, text, 0o600)
}

const handshake = `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}}`

func (s Script) run() {
	if s.Starts != "" {
		if f, err := os.OpenFile(s.Starts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.WriteString("x")
			_ = f.Close()
		}
	}
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	for n := 0; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var req struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(line), &req)
		answer := ""
		if s.Closes && req.Method == "tools/call" {
			_ = os.Stdout.Close()
			time.Sleep(time.Hour)
		}
		if slices.Contains(s.Silent, req.Method) {
			continue
		}
		switch req.Method {
		case "ping":
			answer = `{"jsonrpc":"2.0","id":ID,"result":{}}`
		case "server/discover":
			answer = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`
		case "initialize":
			if answer = s.Initialize; answer == "" {
				answer = handshake
			}
		case "tools/list":
			answer = s.List
		case "tools/call":
			answer = s.Call
		}
		if answer == "" {
			continue
		}
		answer = strings.ReplaceAll(answer, "ID", string(req.ID))
		answer = strings.ReplaceAll(answer, "CURSOR", fmt.Sprint("page", n))
		before, after, padded := strings.Cut(answer, "PAD")
		_, _ = out.WriteString(before)
		if padded {
			for range s.Grow {
				_, _ = out.WriteString(s.Pad)
			}
			_, _ = out.WriteString(after)
		}
		_ = out.WriteByte('\n')
		if out.Flush() != nil || req.Method == s.until {
			return
		}
	}
}

// deaf answers until its tools are listed, and stops reading after that.
func deaf(string) {
	s := Script{List: `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"f","inputSchema":{"type":"object"}}]}}`}
	s.until = "tools/list"
	s.run()
	time.Sleep(time.Hour)
}
