package session

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// TestAutoTakesTheVendor: auto selects the vendor's tool if the user allows network access or sets the lanes. Otherwise
// it selects a server's tool, else ours.
func TestAutoTakesTheVendor(t *testing.T) { // 3.7
	for _, c := range []struct {
		name   string
		allow  []string
		lanes  []string
		vendor string
		want   agent.Lane
	}{
		{"the vendor has it", []string{"net"}, nil, "anthropic/claude-sonnet-4-5", agent.LaneNative},
		{"the vendor has it in its newer format", []string{"net"}, nil, "gemini/gemini-2.5-flash", agent.LaneNative},
		{"no vendor has it", []string{"net"}, nil, "groq/llama-3.3-70b-versatile", agent.LaneLocal},
		{"ours is wanted", []string{"net"}, []string{"local"}, "anthropic/claude-sonnet-4-5", agent.LaneLocal},
		{"nobody may reach the network", nil, nil, "anthropic/claude-sonnet-4-5", ""},
		{"it was set", nil, []string{"web_search=auto"}, "anthropic/claude-sonnet-4-5", agent.LaneNative},
	} {
		s := &settings.Settings{ToolOptions: settings.ToolOptions{Root: t.TempDir(), Allow: c.allow, Lanes: c.lanes}, Sources: map[string]string{}}
		if c.lanes != nil {
			s.Sources["lanes"] = "--lanes"
		}
		set, done, err := toolset.Open(&s.ToolOptions)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		client := &provider.Client{Key: func(string) (string, error) { return "key-of-a-test", nil }}
		w := &Session{Settings: s, ToolSet: set, client: client, Found: openmodel.Choice{ID: c.vendor}}
		if w.Opened, err = client.Open(c.vendor); err != nil {
			t.Fatal(err)
		}
		hosted, err := w.ProviderTools()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(hosted, func(p agent.ProviderTool) bool { return p.Name == "web_search" })
		if c.want == "" {
			if i >= 0 {
				t.Errorf("%s: %+v", c.name, hosted)
			}
			continue
		}
		w.hosted, w.KnownSecrets, w.MaxTurns = hosted, new(journal.Secrets), 3
		a := w.Agent(nil, nil)
		a.Model = llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				_ = yield(llm.TextDelta{Text: "Done."}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
			}
		})
		var lanes []agent.LaneChosen
		for ev, err := range a.Run(t.Context(), llm.User("go")) {
			if err != nil {
				t.Fatal(err)
			}
			if lane, ok := ev.(agent.LaneChosen); ok {
				lanes = append(lanes, lane)
			}
		}
		if len(lanes) != len(hosted) || lanes[i].Lane != c.want || lanes[i].Why == "" {
			t.Errorf("%s: %+v", c.name, lanes)
		}
	}
}
