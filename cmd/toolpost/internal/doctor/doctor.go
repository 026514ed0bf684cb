// Package doctor is the command doctor. It reports which parts work on this machine, and how to get the missing ones.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	findingscmd "github.com/toolpost/toolpost/cmd/toolpost/internal/findings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/provider"
)

func New() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "List the keys, servers and programs found, and what is missing",
		Long: `Look at everything run and chat need: the configuration, keys in the environment, servers
on this machine, agent programs, tools and the record of runs. No model is asked anything; the only
requests go to the usual ports of this machine and ask which models are there.

It is a failure if something is broken, not if something is missing.`,
		Example: "  toolpost doctor\n  toolpost doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := examine(cmd)
			if asJSON {
				if err := cli.PrintJSON(cmd.OutOrStdout(), findings); err != nil {
					return err
				}
			} else if err := findingscmd.Print(cmd, findings); err != nil {
				return err
			}
			for _, f := range findings {
				if f.State == findingscmd.Broken {
					return cli.ErrReported
				}
			}
			return nil
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// examine runs all checks, in the order in which a run needs the parts.
func examine(cmd *cobra.Command) []findingscmd.Finding {
	s, err := settings.Load(cmd)
	if err != nil {
		return []findingscmd.Finding{{What: "configuration", State: findingscmd.Broken, Says: err.Error(), Fix: "correct it, then: toolpost config check"}}
	}
	out := []findingscmd.Finding{examineConfig(cmd, s.File), examineCatalog()}
	out = append(out, examineKeys()...)
	local := openmodel.FindLocal(cmd.Context(), &s.ModelOptions)
	out = append(out, examineLocal(s.Local, local)...)
	out = append(out, examineAgents(&s.ModelOptions, s.Redact)...)
	out = append(out, examineEntries(cmd.Context(), &s.ModelOptions)...)
	return append(out, examineModel(cmd.Context(), &s.ModelOptions, s.Sources["model"]), examineTools(&s.ToolOptions), examineStore(s.Journal))
}

func examineConfig(cmd *cobra.Command, used string) findingscmd.Finding {
	if used == "" {
		file, _ := settings.File(cmd)
		return findingscmd.Finding{What: "configuration", State: findingscmd.Missing, Says: "no file, which is fine; it would be " + file, Fix: ""}
	}
	return findingscmd.Finding{What: "configuration", State: findingscmd.OK, Says: used, Fix: ""}
}

func examineCatalog() findingscmd.Finding {
	c, err := cli.UserCatalog("")
	if err != nil {
		return findingscmd.Finding{What: "models.yaml", State: findingscmd.Broken, Says: err.Error(), Fix: "correct the line it names"}
	}
	return findingscmd.Finding{What: "catalogue", State: findingscmd.OK, Says: fmt.Sprintf("%d models listed, any id is understood", len(c.Models())), Fix: ""}
}

// examineEntries names the entries of models.yaml that are about none of the models of the servers on this machine, and
// about no vendor with a key.
func examineEntries(ctx context.Context, o *settings.ModelOptions) []findingscmd.Finding {
	c, err := cli.UserCatalog("")
	if err != nil {
		return nil // examineCatalog reports it
	}
	used := make(map[string]bool)
	var names []string
	for _, f := range openmodel.Usable(ctx, o) {
		m := c.Lookup(f.ID)
		for _, why := range m.Explain() {
			used[why.Rule] = true
		}
		vendor, name, _ := strings.Cut(f.ID, "/")
		if name != "…" && slices.Contains(settings.LocalServers, vendor) {
			names = append(names, name)
		}
	}
	var out []findingscmd.Finding
	for _, e := range openmodel.Entries(c) {
		if used[e.ID] || len(names) == 0 {
			continue
		}
		out = append(out, findingscmd.Finding{What: "models.yaml", State: findingscmd.Missing, Says: e.ID + " matches no model that is served on this machine" + cli.DidYouMean(e.ID, names), Fix: e.From})
	}
	return out
}

// examineKeys lists the names of the keys that are set. It never shows a key.
func examineKeys() []findingscmd.Finding {
	var set []string
	for _, v := range provider.Vendors() {
		for _, name := range v.KeyVars() {
			if os.Getenv(name) != "" && !slices.Contains(set, name) {
				set = append(set, name)
			}
		}
	}
	if len(set) == 0 {
		return []findingscmd.Finding{{What: "keys", State: findingscmd.Missing, Says: "no key of a vendor is in the environment", Fix: "export ANTHROPIC_API_KEY=…, OPENAI_API_KEY, GEMINI_API_KEY or another"}}
	}
	return []findingscmd.Finding{{What: "keys", State: findingscmd.OK, Says: strings.Join(set, ", "), Fix: ""}}
}

// StartLocal holds the command that starts each local server.
var StartLocal = map[string]string{
	"ollama":   "ollama serve, then: ollama pull qwen3:8b",
	"llamacpp": "llama-server -m MODEL.gguf --jinja --port 8080",
	"vllm":     "vllm serve Qwen/Qwen3-8B",
	"lmstudio": "lms server start",
}

func examineLocal(asked []string, local []openmodel.Choice) []findingscmd.Finding {
	var out []findingscmd.Finding
	for i, vendor := range settings.LocalServers {
		switch {
		case local[i].ID != "":
			out = append(out, findingscmd.Finding{What: vendor, State: findingscmd.OK, Says: local[i].ID + ": " + local[i].Why, Fix: ""})
		case slices.Contains(asked, vendor):
			out = append(out, findingscmd.Finding{What: vendor, State: findingscmd.Missing, Says: local[i].Why, Fix: StartLocal[vendor]})
		}
	}
	return out
}

// examineModel reports which model run would ask, and how the model would receive its tools.
func examineModel(ctx context.Context, o *settings.ModelOptions, source string) findingscmd.Finding {
	f := openmodel.Choose(ctx, o, source)
	client, err := openmodel.Client(o)
	if err != nil {
		return findingscmd.Finding{What: "model", State: findingscmd.Broken, Says: err.Error(), Fix: ""}
	}
	m, f, err := openmodel.Open(ctx, o, f, client.Open)
	if err != nil {
		return findingscmd.Finding{What: "model", State: findingscmd.Broken, Says: fmt.Sprintf("%s (%s): %v", f.ID, f.Why, err), Fix: "choose another with -m or TOOLPOST_MODEL"}
	}
	says := f.ID + ", because " + f.Why
	opened, ok := m.(*provider.Model)
	if !ok {
		return findingscmd.Finding{What: "model", State: findingscmd.OK, Says: says, Fix: "a real one: set a key or start a server, see above"}
	}
	if tools := session.Tools(opened); tools != "" {
		says += "; it has " + tools
	}
	return findingscmd.Finding{What: "model", State: findingscmd.OK, Says: says, Fix: ""}
}

func examineTools(o *settings.ToolOptions) findingscmd.Finding {
	set, done, err := toolset.Open(o)
	if err != nil {
		return findingscmd.Finding{What: "tools", State: findingscmd.Broken, Says: err.Error(), Fix: "correct the file, or --root"}
	}
	defer done()
	root, err := os.Stat(o.Root)
	if err != nil || !root.IsDir() {
		return findingscmd.Finding{What: "tools", State: findingscmd.Broken, Says: o.Root + " is not a folder", Fix: "choose another with --root"}
	}
	return findingscmd.Finding{What: "tools", State: findingscmd.OK, Says: strings.Join(set.Names(), ", "), Fix: ""}
}

// examineStore opens the record store as run would.
func examineStore(address string) findingscmd.Finding {
	name := settings.RedactAddress(address)
	_, done, err := runstore.OpenAt(address, true)
	if err == nil {
		done()
		if info, statErr := os.Stat(address); statErr == nil && info.IsDir() {
			err = writable(address)
		}
	}
	if err != nil {
		return findingscmd.Finding{What: "record", State: findingscmd.Broken, Says: fmt.Sprintf("%s: %v", name, err), Fix: "choose another place with --journal or TOOLPOST_STORE"}
	}
	return findingscmd.Finding{What: "record", State: findingscmd.OK, Says: name, Fix: ""}
}

// writable tries to write to a folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// examineAgents reports which agent programs are installed.
func examineAgents(o *settings.ModelOptions, redact func(string) string) []findingscmd.Finding {
	var out []findingscmd.Finding
	for _, p := range openmodel.AgentPrograms(o) {
		f := findingscmd.Finding{What: p.ID, State: findingscmd.OK, Says: cli.InOneLine(p.Path)}
		if p.Why != nil {
			f = findingscmd.Finding{What: p.ID, State: findingscmd.Missing, Says: cli.InOneLine(redact(p.Why.Error())), Fix: "install the program, or correct it under agent_programs in the configuration"}
		}
		out = append(out, f)
	}
	return out
}
