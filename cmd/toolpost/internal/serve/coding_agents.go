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
	"github.com/toolpost/toolpost/cmd/toolpost/internal/codingagents"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// NoKey is the key of agents that require one, for a gateway without keys.
const NoKey = "none"

// yourKey is a placeholder for the key of a gateway with keys. A key is shown only once, when it is created.
const yourKey = "YOUR-KEY"

// agentFlags are the flags of serve for coding agents.
type agentFlags struct {
	agent      string
	write, try bool
}

// serveFor prints the configuration of a coding agent that uses the gateway, writes it, or tries its names.
func serveFor(cmd *cobra.Command, f agentFlags, addr string) error {
	a, ok := codingagents.Find(f.agent)
	if !ok {
		return cli.Usagef(cmd, "--for: nothing is known of %q; there are %s", f.agent, strings.Join(codingagents.Names(), ", "))
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
	v, err := agentValues(s, a, "")
	if err != nil {
		return err
	}
	scheme := "http"
	if s.Gateway.Ops.TLS.Cert != "" {
		scheme = "https"
	}
	v.URL = scheme + "://" + reachable(addr)
	if s.Gateway.Keys.Store != "" {
		v.Key = yourKey
	}
	switch {
	case f.try:
		return tryAgent(cmd, s, a, v)
	case f.write:
		return writeAgent(cmd.OutOrStdout(), a, v)
	}
	if v.Key == yourKey {
		fmt.Fprintf(cmd.OutOrStdout(), "# %s is a key of the gateway: toolpost keys create --help\n", yourKey)
	}
	return PrintAgent(cmd.OutOrStdout(), a, v)
}

// agentValues is valuesFor, with an error if the gateway has no name for the agent.
func agentValues(s *settings.Settings, a codingagents.Agent, name string) (codingagents.Values, error) {
	v, err := valuesFor(s, a, name)
	if err == nil && v.Main.Name == "" {
		err = fmt.Errorf("gateway: no route answers clients of the format %s by a name that is known; add one with a name without *", a.WireFormat())
	}
	return v, err
}

// PrintAgent prints the configuration and the start command of an agent.
func PrintAgent(w io.Writer, a codingagents.Agent, v codingagents.Values) error {
	configs, err := a.Configs(v)
	if err != nil {
		return err
	}
	for _, c := range configs {
		fmt.Fprintf(w, "# in %s\n%s\n", c.Path, c.Text())
	}
	if !a.EnvInFile() {
		printEnv(w, a, v)
	}
	printRun(w, a, v)
	return nil
}

// printEnv prints the variables of an agent for a shell.
func printEnv(w io.Writer, a codingagents.Agent, v codingagents.Values) {
	if len(a.Env) == 0 {
		return
	}
	fmt.Fprintln(w, "# in your shell")
	for _, line := range a.Lines(a.Env, v) {
		name, value, _ := strings.Cut(line, "=")
		fmt.Fprintf(w, "export %s=%s\n", name, cli.ShellWord(value))
	}
	fmt.Fprintln(w)
}

// printRun prints the start command of an agent, and what its user should know.
func printRun(w io.Writer, a codingagents.Agent, v codingagents.Values) {
	var words []string
	for _, word := range a.Lines(a.Run, v) {
		rest, home := strings.CutPrefix(word, "~/") // which a shell replaces outside quotes
		if word = cli.ShellWord(rest); home {
			word = "~/" + word
		}
		words = append(words, word)
	}
	fmt.Fprintf(w, "# then\n%s\n", strings.Join(words, " "))
	if a.Note != "" {
		fmt.Fprintf(w, "\n# %s\n", a.Lines([]string{a.Note}, v)[0])
	}
}

// writeAgent edits the configuration files of an agent, and prints what is left to do.
func writeAgent(w io.Writer, a codingagents.Agent, v codingagents.Values) error {
	configs, err := a.Configs(v)
	if err != nil {
		return err
	}
	for _, c := range configs {
		done, err := c.Write()
		if err != nil {
			return err
		}
		switch {
		case !done.Changed:
			fmt.Fprintf(w, "%s is as it should be\n", done.File)
		case done.Backup == "":
			fmt.Fprintf(w, "%s is written\n", done.File)
		default:
			fmt.Fprintf(w, "%s is changed; it was copied to %s\n", done.File, done.Backup)
		}
	}
	if len(configs) == 0 {
		fmt.Fprintf(w, "%s has no file for this, only variables\n", a.Title)
	}
	if v.Key == yourKey {
		fmt.Fprintf(w, "replace %s by a key of the gateway: toolpost keys create --help\n", yourKey)
	}
	fmt.Fprintln(w)
	if !a.EnvInFile() {
		printEnv(w, a, v)
	}
	printRun(w, a, v)
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
