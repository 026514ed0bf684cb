package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/provider"
)

// finding is the result of one check of doctor.
type finding struct {
	What  string `json:"what"`
	State string `json:"state"` // "ok", "missing" or "broken"
	Says  string `json:"says"`
	Fix   string `json:"fix,omitempty"` // a command, or a change to make
}

// The states of a finding. Only stateBroken is a failure.
const (
	stateOK      = "ok"
	stateMissing = "missing"
	stateBroken  = "broken"
)

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is found, what is missing, and what fixes it",
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
			} else if err := printFindings(cmd, findings); err != nil {
				return err
			}
			for _, f := range findings {
				if f.State == stateBroken {
					return cli.ErrReported
				}
			}
			return nil
		},
	}
	cmd.Flags().String("config", "", "`FILE` to read in place of your config.yaml")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// examine runs all checks, in the order in which a run needs the parts.
func examine(cmd *cobra.Command) []finding {
	s, err := loadSettings(cmd)
	if err != nil {
		return []finding{{"configuration", stateBroken, err.Error(), "correct it, then: toolpost config check"}}
	}
	out := []finding{examineConfig(cmd, s), examineCatalog()}
	out = append(out, examineKeys()...)
	local := s.findLocal(cmd.Context())
	out = append(out, examineLocal(s, local)...)
	out = append(out, s.examineAgents()...)
	return append(out, examineModel(cmd.Context(), s), examineTools(s), examineStore(s))
}

func examineConfig(cmd *cobra.Command, s *settings) finding {
	if s.file == "" {
		file, _ := configFile(cmd)
		return finding{"configuration", stateMissing, "no file, which is fine; it would be " + file, ""}
	}
	return finding{"configuration", stateOK, s.file, ""}
}

func examineCatalog() finding {
	c, err := cli.UserCatalog("")
	if err != nil {
		return finding{"models.yaml", stateBroken, err.Error(), "correct the line it names"}
	}
	return finding{"catalogue", stateOK, fmt.Sprintf("%d models listed, any id is understood", len(c.Models())), ""}
}

// examineKeys lists the names of the keys that are set. It never shows a key.
func examineKeys() []finding {
	var set []string
	for _, v := range provider.Vendors() {
		for _, name := range v.KeyVars() {
			if os.Getenv(name) != "" && !slices.Contains(set, name) {
				set = append(set, name)
			}
		}
	}
	if len(set) == 0 {
		return []finding{{"keys", stateMissing, "no key of a vendor is in the environment", "export ANTHROPIC_API_KEY=…, OPENAI_API_KEY, GEMINI_API_KEY or another"}}
	}
	return []finding{{"keys", stateOK, strings.Join(set, ", "), ""}}
}

// startLocal holds the command that starts each local server.
var startLocal = map[string]string{
	"ollama":   "ollama serve, then: ollama pull qwen3:8b",
	"llamacpp": "llama-server -m MODEL.gguf --jinja --port 8080",
	"vllm":     "vllm serve Qwen/Qwen3-8B",
	"lmstudio": "lms server start",
}

func examineLocal(s *settings, local []found) []finding {
	var out []finding
	for i, vendor := range locals {
		switch {
		case local[i].ID != "":
			out = append(out, finding{vendor, stateOK, local[i].ID + ": " + local[i].Why, ""})
		case slices.Contains(s.Local, vendor):
			out = append(out, finding{vendor, stateMissing, "no answer on its port", startLocal[vendor]})
		}
	}
	return out
}

// examineModel reports which model run would ask, and how the model would receive its tools.
func examineModel(ctx context.Context, s *settings) finding {
	f := s.choose(ctx)
	client, err := s.client()
	if err != nil {
		return finding{"model", stateBroken, err.Error(), ""}
	}
	m, f, err := s.open(ctx, f, client.Open)
	if err != nil {
		return finding{"model", stateBroken, fmt.Sprintf("%s (%s): %v", f.ID, f.Why, err), "choose another with -m or TOOLPOST_MODEL"}
	}
	says := f.ID + ", because " + f.Why
	opened, ok := m.(*provider.Model)
	if !ok {
		return finding{"model", stateOK, says, "a real one: set a key or start a server, see above"}
	}
	if route, err := opened.Explain(nil); err == nil {
		says += "; tools: " + route.String()
	}
	return finding{"model", stateOK, says, ""}
}

func examineTools(s *settings) finding {
	set, done, err := s.toolSet()
	if err != nil {
		return finding{"tools", stateBroken, err.Error(), "correct the file, or --root"}
	}
	defer done()
	root, err := os.Stat(s.Root)
	if err != nil || !root.IsDir() {
		return finding{"tools", stateBroken, s.Root + " is no folder", "choose another with --root"}
	}
	return finding{"tools", stateOK, strings.Join(set.Names(), ", "), ""}
}

// examineStore opens the record store as run would.
func examineStore(s *settings) finding {
	name := redactAddress(s.Journal)
	_, done, err := openStoreAt(s.Journal, true)
	if err == nil {
		done()
		if info, statErr := os.Stat(s.Journal); statErr == nil && info.IsDir() {
			err = writable(s.Journal)
		}
	}
	if err != nil {
		return finding{"record", stateBroken, fmt.Sprintf("%s: %v", name, err), "choose another place with --journal or TOOLPOST_STORE"}
	}
	return finding{"record", stateOK, name, ""}
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

func printFindings(cmd *cobra.Command, findings []finding) error {
	out := cmd.OutOrStdout()
	p := cli.Colours(out)
	marks := map[string]string{stateOK: p.Green("✓"), stateMissing: p.Dim("–"), stateBroken: p.Red("✗")}
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s %-13s %s\n", marks[f.State], f.What, f.Says)
		if f.Fix != "" {
			fmt.Fprintf(&b, "  %-13s %s\n", "", p.Dim(f.Fix))
		}
	}
	_, err := fmt.Fprint(out, b.String())
	return err
}
