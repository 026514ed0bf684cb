package session

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// A prompt of a server becomes a message whose text is a document; resources that the user names are documents too.
func TestPromptsAndResourcesOfServers(t *testing.T) {
	servers, err := client.Open(client.Options{}, config.ServerConfig{Name: "whole", URL: mcptest.HTTP(t, mcptest.Whole(), nil) + "/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { servers.Close() })
	w := &Session{Settings: &settings.Settings{}}
	if got := w.ListPrompts(t.Context()); got != "there are no MCP servers" {
		t.Error(got)
	}
	w.Bridge = servers
	msg, err := w.ServerPrompt(t.Context(), "whole:greet 'who=Ada and Bo'")
	if err != nil || len(msg.Parts) != 2 {
		t.Fatal(msg, err)
	}
	if text := msg.Parts[1].(llm.Text); !strings.Contains(text.Text, "Greet Ada and Bo") || text.Origin != llm.OriginDocument {
		t.Errorf("%+v", text)
	}
	for arg, want := range map[string]string{
		"": "takes SERVER:NAME", "nowhere:greet": "name of a server", "whole:gret": "no prompt gret", "whole:": "name a prompt of server whole: greet", "whole:greet": "needs who=", "whole:greet who": "not NAME=VALUE",
	} {
		if _, err := w.ServerPrompt(t.Context(), arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("/prompt %s: %v", arg, err)
		}
	}
	if got := w.ListPrompts(t.Context()); !strings.Contains(got, "whole:greet who=…") {
		t.Error(got)
	}
	msg, err = w.Attach(t.Context(), llm.User("What does @whole:test://notes, say? Ask @ada:x or a@whole:b."))
	if err != nil || len(msg.Parts) != 2 {
		t.Fatalf("%+v, %v", msg, err)
	}
	if text := msg.Parts[1].(llm.Text); !strings.Contains(text.Text, "content of test://notes") || text.Origin != llm.OriginDocument {
		t.Errorf("%+v", text)
	}
	if _, err := w.Attach(t.Context(), llm.User("@whole:gone://x")); err == nil || !strings.Contains(err.Error(), "@whole:gone://x") {
		t.Error(err)
	}
	// Only what the user writes is an attachment, not the content of a file.
	quoted := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "Look:"}, llm.Text{Text: "@whole:test://notes", Origin: llm.OriginDocument}}}
	if msg, err := w.Attach(t.Context(), quoted); err != nil || len(msg.Parts) != 2 {
		t.Errorf("%+v, %v", msg, err)
	}
}
