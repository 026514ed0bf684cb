package serve

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serveimport"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/wire"
)

// codingAgent describes a coding agent and the configuration that makes it use a gateway. {URL} is replaced by the
// address of the gateway, {MODEL} by a model name of its routes, and {KEY} by a key.
type codingAgent struct {
	Name, Title string
	format      string   // wire format; "" means chat
	file, lines string   // configuration file; "" if the environment is enough
	env         []string // variables, as NAME=value
	run         string   // start command
	note        string   // anything else the user should know
}

// CodingAgents holds the agents that conformance/agents tests with the gateway, and aider.
var CodingAgents = []codingAgent{
	{
		Name: "claude-code", Title: "Claude Code", format: wire.Messages,
		env: []string{"ANTHROPIC_BASE_URL={URL}", "ANTHROPIC_API_KEY={KEY}", "ANTHROPIC_MODEL={MODEL}", "ANTHROPIC_SMALL_FAST_MODEL={MODEL}", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		run: "claude", note: "It asks in the format of Anthropic, whatever model answers.",
	},
	{
		Name: "codex", Title: "Codex", format: wire.Responses,
		file:  "~/.codex/config.toml",
		lines: "model = \"{MODEL}\"\nmodel_provider = \"toolpost\"\n\n[model_providers.toolpost]\nname = \"toolpost\"\nbase_url = \"{URL}/v1\"\nwire_api = \"responses\"\nenv_key = \"TOOLPOST_KEY\"\n",
		env:   []string{"TOOLPOST_KEY={KEY}"},
		run:   "codex", note: "Models whose names it knows are offered its patches as free text; others edit by commands.",
	},
	{
		Name: "opencode", Title: "opencode",
		file:  "~/.config/opencode/opencode.json",
		lines: "{\n  \"provider\": {\n    \"toolpost\": {\n      \"npm\": \"@ai-sdk/openai-compatible\",\n      \"options\": {\"baseURL\": \"{URL}/v1\", \"apiKey\": \"{KEY}\"},\n      \"models\": {\"{MODEL}\": {}}\n    }\n  },\n  \"small_model\": \"toolpost/{MODEL}\"\n}\n",
		run:   "opencode -m toolpost/{MODEL}",
	},
	{
		Name: "pi", Title: "pi",
		file:  "~/.pi/agent/models.json",
		lines: "{\n  \"providers\": {\n    \"toolpost\": {\n      \"baseUrl\": \"{URL}/v1\",\n      \"apiKey\": \"{KEY}\",\n      \"api\": \"openai-completions\",\n      \"models\": [{\"id\": \"{MODEL}\"}]\n    }\n  }\n}\n",
		run:   "pi --provider toolpost --model {MODEL}",
		note:  "It also speaks \"openai-responses\" at the same address, \"anthropic-messages\" at {URL}, and \"google-generative-ai\" at {URL}/v1beta.",
	},
	{
		Name: "gemini-cli", Title: "Gemini CLI", format: wire.Gemini,
		file:  "~/.gemini/settings.json",
		lines: "{\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}\n",
		env:   []string{"GOOGLE_GEMINI_BASE_URL={URL}", "GEMINI_API_KEY={KEY}"},
		run:   "gemini -m {MODEL}",
		note:  "It also asks models that it chooses itself, like gemini-2.5-flash: a route for gemini-* answers them.",
	},
	{
		Name: "qwen-code", Title: "Qwen Code",
		file:  "~/.qwen/settings.json",
		lines: "{\"security\": {\"auth\": {\"selectedType\": \"openai\"}}}\n",
		env:   []string{"OPENAI_BASE_URL={URL}/v1", "OPENAI_API_KEY={KEY}", "OPENAI_MODEL={MODEL}"},
		run:   "qwen",
	},
	{
		Name: "continue", Title: "Continue",
		file:  "~/.continue/config.yaml",
		lines: "name: toolpost\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: toolpost\n    provider: openai\n    model: {MODEL}\n    apiBase: {URL}/v1\n    apiKey: {KEY}\n    roles: [chat, edit, apply]\n    capabilities: [tool_use]\n",
		run:   "cn --config ~/.continue/config.yaml",
	},
	{
		Name: "mini-swe-agent", Title: "mini-swe-agent",
		env: []string{"OPENAI_API_BASE={URL}/v1", "OPENAI_API_KEY={KEY}", "MSWEA_CONFIGURED=true", "MSWEA_COST_TRACKING=ignore_errors"},
		run: "mini -m openai/{MODEL}",
	},
	{
		Name: "llm", Title: "llm",
		file:  "~/.config/io.datasette.llm/extra-openai-models.yaml",
		lines: "- model_id: toolpost\n  model_name: {MODEL}\n  api_base: {URL}/v1\n  supports_tools: true\n",
		run:   "llm -m toolpost --key {KEY} -T llm_time --td \"What time is it?\"",
		note:  "The folder is that of Linux; llm says its own with: dirname \"$(llm logs path)\".",
	},
	{
		Name: "aider", Title: "aider",
		env:  []string{"OPENAI_API_BASE={URL}/v1", "OPENAI_API_KEY={KEY}"},
		run:  "aider --model openai/{MODEL}",
		note: "It edits by text and needs no tools.",
	},
}

// programNames returns the valid values of --for.
func programNames() string {
	var names []string
	for _, p := range CodingAgents {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Print prints the configuration and the start command of an agent.
func (p codingAgent) Print(w io.Writer, url, model, key string) {
	fill := strings.NewReplacer("{URL}", url, "{MODEL}", model, "{KEY}", key).Replace
	if p.file != "" {
		fmt.Fprintf(w, "# in %s\n%s\n", p.file, fill(p.lines))
	}
	if len(p.env) > 0 {
		fmt.Fprintln(w, "# in your shell")
		for _, v := range p.env {
			fmt.Fprintf(w, "export %s\n", fill(v))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "# then\n%s\n", fill(p.run))
	if p.note != "" {
		fmt.Fprintf(w, "\n# %s\n", fill(p.note))
	}
}

// NoKey is the key of agents that require one, for a gateway without keys.
const NoKey = "none"

// yourKey is a placeholder for the key of a gateway with keys. A key is shown only once, when it is created.
const yourKey = "YOUR-KEY"

// serveFor prints the configuration of a program that uses the gateway.
func serveFor(cmd *cobra.Command, name, addr string) error {
	i := slices.IndexFunc(CodingAgents, func(p codingAgent) bool { return p.Name == name })
	if i < 0 {
		return cli.Usagef(cmd, "--for: nothing is known of %q; there are %s", name, programNames())
	}
	s, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	flag := addr != ""
	if addr = cmp.Or(addr, s.Gateway.Addr, DefaultAddr); flag {
		if err := listenable(addr); err != nil {
			return cli.Usagef(cmd, "--addr: %v", err)
		}
	}
	scheme := "http"
	if s.Gateway.Ops.TLS.Cert != "" {
		scheme = "https"
	}
	format := cmp.Or(CodingAgents[i].format, wire.Chat)
	model := nameFor(s.Gateway, format)
	if model == "" {
		return fmt.Errorf("gateway: no route answers clients of the format %s by a name that is known; add one with a name without *", format)
	}
	key := NoKey
	if s.Gateway.Keys.Store != "" {
		key = yourKey
		fmt.Fprintf(cmd.OutOrStdout(), "# %s is a key of the gateway: toolpost keys create --help\n", key)
	}
	CodingAgents[i].Print(cmd.OutOrStdout(), scheme+"://"+reachable(addr), model, key)
	return nil
}

// reachable returns an address at which this machine reaches a server that listens on addr.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// nameFor returns a model name that works for clients of a format, "" if none is known.
func nameFor(c settings.GatewayConfig, format string) string {
	if len(c.Routes) == 0 {
		return "any"
	}
	for _, last := range []settings.RouteConfig{{}, {Model: "*"}, {Hidden: true}, {Model: "*", Hidden: true}} {
		star := last.Model == "*"
		for _, r := range c.Routes {
			if r.Hidden == last.Hidden && (r.From == nil || slices.Contains(r.From, format)) && strings.HasSuffix(r.Model, "*") == star {
				if name := exampleName(r); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// exampleName returns a model name that matches the route and that its upstream has, "" if none is known.
func exampleName(r settings.RouteConfig) string {
	prefix, star := strings.CutSuffix(r.Model, "*")
	if !star || len(r.To) == 0 {
		return prefix
	}
	before, after, part := strings.Cut(r.To[0].Model, "*")
	if !part {
		return prefix + "any"
	}
	_, name, _ := strings.Cut(before, "/") // the catalogue lists most models without their vendors
	for _, m := range catalog.Default().Models() {
		for _, start := range []string{before, name} {
			if rest, ok := strings.CutPrefix(m.ID.Raw, start); ok && start != "" && strings.HasSuffix(rest, after) && len(rest) > len(after) {
				return prefix + strings.TrimSuffix(rest, after)
			}
		}
	}
	return ""
}

// withPrograms adds the flag --for to serve, and the command that imports another gateway's configuration.
func withPrograms(cmd *cobra.Command) *cobra.Command {
	serve := cmd.RunE
	name := cmd.Flags().String("for", "", "only print how a `PROGRAM` is told to use this gateway: "+programNames())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *name == "" {
			return serve(cmd, args)
		}
		for _, other := range []string{"check", "json"} {
			if f := cmd.Flags().Lookup(other); f != nil && f.Changed {
				return cli.Usagef(cmd, "--for only prints lines for a program: leave out --%s", other)
			}
		}
		addr, _ := cmd.Flags().GetString("addr")
		return serveFor(cmd, *name, addr)
	}
	cmd.AddCommand(serveimport.New(checkFile))
	cli.NoEmptyFlags(cmd)
	return cmd
}
