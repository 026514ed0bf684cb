package models

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/formats"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

type probeFlags struct {
	file   *string // --models
	wire   string
	keyEnv string
	dry    bool
	json   bool
}

func newModelsProbe(file *string) *cobra.Command {
	f := probeFlags{file: file}
	cmd := &cobra.Command{
		Use:   "probe URL MODEL | probe ID",
		Short: "Ask a model what it really does, and remember it",
		Long: fmt.Sprintf(`Asks a model at most %d cheap questions, which cost tokens: does it take tools and call
them, does it honour a forced and a forbidden call, several calls at once, arguments in
pieces, results, a limit, a schema? What it finds goes into your models.yaml with the
date, and from then on decides how that model is asked.

URL is the root of the API, like http://127.0.0.1:8000/v1. No key is sent there unless
--key-env names the variable that holds one.`, provider.MaxProbe),
		Example: `  toolpost models probe http://127.0.0.1:8080/v1 smollm2
  toolpost models probe --wire ollama http://127.0.0.1:11434/api qwen3:8b
  toolpost models probe --dry-run --json groq/llama-3.3-70b-versatile`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := f.probe(cmd, args)
			if err != nil {
				return err
			}
			return f.report(cmd, p)
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().StringVar(&f.wire, "wire", wire.Chat, "the `FORMAT` the server speaks: "+strings.Join(wire.Formats(), ", "))
	cmd.Flags().StringVar(&f.keyEnv, "key-env", "", "the `VARIABLE` with the key for this address")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "do not write the findings down")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// vendorPrefix returns the prefix of an address for a format. It is empty if a vendor without a fixed address supports
// the format, else it names the first vendor that does.
func vendorPrefix(format string) (string, bool) {
	prefix, known := "", false
	for _, v := range provider.Vendors() {
		switch {
		case !slices.Contains(v.Wires, format):
		case v.BaseURL == "":
			return "", true
		case !known:
			prefix, known = v.Name+"+", true
		}
	}
	return prefix, known
}

// id returns the id that opens the model, now and later.
func (f probeFlags) id(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	if err := formats.Check(f.wire, wire.Formats()...); err != nil {
		return "", fmt.Errorf("--wire: %w", err)
	}
	prefix, ok := vendorPrefix(f.wire)
	if !ok {
		return "", fmt.Errorf("--wire: no vendor uses the format %q; add a provider with base_url and wire to the configuration, and probe NAME/MODEL", f.wire)
	}
	if !strings.HasPrefix(args[0], "http://") && !strings.HasPrefix(args[0], "https://") {
		return "", errors.New("the address begins with http:// or https://")
	}
	return prefix + strings.TrimRight(args[0], "/") + "#" + args[1], nil
}

func (f probeFlags) probe(cmd *cobra.Command, args []string) (*provider.Probe, error) {
	id, err := f.id(args)
	if err != nil {
		return nil, cli.Usagef(cmd, "%w", err)
	}
	client, err := f.client(cmd, id, len(args) == 2)
	if err != nil {
		return nil, err
	}
	opened, err := client.Open(id)
	if err != nil {
		return nil, err
	}
	m, ok := opened.(*provider.Model)
	if !ok {
		return nil, fmt.Errorf("%s is not served over HTTP; there is nothing to probe", id)
	}
	p, err := m.Probe(cmd.Context())
	if prefix, _ := vendorPrefix(f.wire); err == nil && len(args) == 2 && prefix != "" {
		p.Record.Values["wire"] = f.wire
	}
	return p, err
}

// client returns a client with the user's vendors and catalogue. If the address is given, it uses the format of --wire
// and the key of --key-env.
func (f probeFlags) client(cmd *cobra.Command, id string, addressed bool) (*provider.Client, error) {
	s, err := settings.Load(cmd)
	if err != nil {
		return nil, err
	}
	client, err := openmodel.Client(&s.ModelOptions)
	if err != nil {
		return nil, err
	}
	if *f.file != "" {
		known, err := cli.UserCatalog(*f.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the file will be created
			return nil, err
		}
		client.Catalog = cmp.Or(known, catalog.Default())
	}
	if addressed {
		client.Catalog = client.Catalog.With(catalog.Model{ID: catalog.ID{Raw: id}, Wire: f.wire})
	}
	if f.keyEnv == "" {
		return client, nil
	}
	key := os.Getenv(f.keyEnv)
	if key == "" {
		return nil, fmt.Errorf("--key-env: %s is not set", f.keyEnv)
	}
	client.Key = func(string) (string, error) { return key, nil }
	return client, nil
}

// report saves the findings and prints them.
func (f probeFlags) report(cmd *cobra.Command, p *provider.Probe) error {
	where := "nothing was written"
	if !f.dry {
		file, err := openmodel.KeepProbe(*f.file, p)
		if err != nil {
			return err
		}
		where = "written to " + file
	}
	out := cmd.OutOrStdout()
	if f.json {
		return cli.PrintJSON(out, p)
	}
	fmt.Fprintln(out, cli.Colours(out).Bold(p.ID))
	var rows [][]string
	for _, found := range p.Findings {
		rows = append(rows, []string{found.Name, found.Answer.String(), cli.Printable(found.Because)})
	}
	if err := cli.PrintTable(out, "  ", rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s; %s\n", cmp.Or(p.Record.Why, "probed"), where)
	return err
}
