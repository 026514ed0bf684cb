package sim

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// echoName is the model that describes its request.
const echoName = "echo"

// describe describes a request, a line per message. A test compares it with the
// request that a client meant to send.
func describe(req *llm.Request) string {
	var b strings.Builder
	if req.System != "" {
		fmt.Fprintf(&b, "system: text %q\n", req.System)
	}
	for _, m := range req.Messages {
		var parts []string
		for _, p := range m.Parts {
			parts = append(parts, describePart(p))
		}
		fmt.Fprintf(&b, "%s: %s\n", m.Role, strings.Join(parts, "; "))
	}
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	if len(names) > 0 {
		slices.Sort(names)
		fmt.Fprintf(&b, "tools: %s\n", strings.Join(names, ", "))
	}
	return b.String()
}

func describePart(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return fmt.Sprintf("text %q", p.Text)
	case llm.Thinking:
		return fmt.Sprintf("thinking %q", p.Text)
	case llm.Media:
		where := fmt.Sprintf("%d bytes %x", len(p.Data), sha256.Sum256(p.Data))
		if len(p.Data) == 0 {
			where = "at " + p.URL + p.ID
		}
		return fmt.Sprintf("%s %s %s", p.Kind, p.MIME, where)
	case llm.Call:
		return fmt.Sprintf("call %s %s", p.Name, p.Args)
	case llm.Result:
		return fmt.Sprintf("result %q", p.Text())
	}
	return fmt.Sprintf("%T", p)
}
