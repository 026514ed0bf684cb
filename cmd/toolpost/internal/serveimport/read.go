package serveimport

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/journal"
)

// note is a setting that was not imported, with its line.
type note struct {
	line int
	text string
}

// decimal matches a weight. LiteLLM allows fractions.
var decimal = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,6})?$`)

// wholeNumbers converts the weights of upstreams to whole numbers with the same proportions. A missing weight is 1.
func wholeNumbers(to []upstream) {
	if !slices.ContainsFunc(to, func(u upstream) bool { return strings.Contains(u.weight, ".") }) {
		return
	}
	const unit = 1_000_000
	parts, common := make([]int64, len(to)), int64(0)
	for i, u := range to {
		n, _ := strconv.ParseFloat(cmp.Or(u.weight, "1"), 64) // the text is a number
		parts[i] = int64(math.Round(n * unit))
		for a, b := parts[i], common; ; a, b = b, a%b {
			if b == 0 {
				common = a
				break
			}
		}
	}
	for i := range to {
		to[i].weight = strconv.FormatInt(parts[i]/max(common, 1), 10)
	}
}

// importer holds the import of one file.
type importer struct {
	routes    []*route
	notes     []note
	env       map[string]string // the required values of the variables in placeVariables
	notCopied map[string]string // addresses and keys that are not copied, with the variables for them

	models, lost int  // entries of model_list, and how many are left out
	includes     bool // the file includes other files, and these are not read
	rows         []providerRow
	keys         bool // clients had keys
}

// providerRow is an entry of providers.
type providerRow struct{ name, like, base, wire, keyEnv, region, project, endpoint string }

type route struct {
	model    string
	to       []upstream
	fallback []string
	cache    string
	pass     string // endpoints that are passed on
	places   map[string]ast.Node
	hidden   bool
	aliasOf  *route
}

type upstream struct {
	id     string
	weight string
	at     ast.Node // position in the file
}

// modelParams holds the litellm_params of a model.
type modelParams struct {
	name                     string // model_name
	pass                     string // endpoints that are passed on
	model, base, key, vendor ast.Node
	places                   map[string]ast.Node // settings of placeVariables
}

// of returns LiteLLM's name of the vendor, and the vendor's name of the model.
func (p *modelParams) of() (vendor, name string) {
	if vendor, name = configcheck.Scalar(p.vendor), configcheck.Scalar(p.model); vendor == "" {
		vendor = vendorOf(p.model)
	}
	return vendor, strings.TrimPrefix(name, vendor+"/")
}

func (in *importer) skip(n ast.Node, format string, args ...any) {
	line := 1
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		line = n.GetToken().Position.Line
	}
	text, _ := new(journal.Secrets).Redact(fmt.Sprintf(format, args...))
	text = cli.Revealed(keyInName.ReplaceAllString(text, "$1$2=…")) // names of settings that are not imported
	if l := (note{line, text}); !slices.Contains(in.notes, l) {
		in.notes = append(in.notes, l)
	}
}

// read parses a configuration of LiteLLM's proxy.
func read(text []byte) (*importer, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // editors on Windows add a byte order mark
	if err := yamlcheck.Check(text); err != nil {
		return nil, err
	}
	file, err := yamlcheck.ParsePlain(text)
	if err != nil {
		line, problem := configcheck.Problem(err)
		return nil, fmt.Errorf("line %d: it is no YAML: %s", max(line, 1), problem)
	}
	in := &importer{env: map[string]string{}, notCopied: map[string]string{}}
	found := false
	for _, models := range []bool{true, false} { // models first, because settings refer to them
		for _, doc := range file.Docs {
			for key, value := range configcheck.Members(doc.Body) {
				is := keyName(key) == "model_list"
				if found = found || is; is == models {
					in.section(key, value)
				}
			}
		}
	}
	switch {
	case !found:
		return nil, errors.New("it has no model_list, so it is no configuration of LiteLLM's proxy")
	case in.models == 0:
		return nil, errors.New("its model_list is no list of models, each with model_name and litellm_params")
	}
	for _, r := range in.routes {
		wholeNumbers(r.to)
	}
	return in, in.empty()
}

// empty returns an error with the reasons if nothing can be imported, else nil.
func (in *importer) empty() error {
	if len(in.routes) > 0 {
		return nil
	}
	var why []string
	for _, l := range in.notes {
		why = append(why, fmt.Sprintf("line %d: %s", l.line, l.text))
	}
	none := fmt.Sprintf("none of its %d models can", in.models)
	if in.models == 1 {
		none = "its one model cannot"
	}
	return fmt.Errorf("%s be taken over: %s", none, strings.Join(why, "; "))
}

// summary describes the result of the import in one line.
func (in *importer) summary() string {
	be := func(n int) string { return map[bool]string{true: "is", false: "are"}[n == 1] }
	taken := in.models - in.lost
	text := fmt.Sprintf("%d of %s %s taken over, in %s", taken, count(in.models, "model"), be(taken), count(len(in.routes), "route"))
	if in.lost > 0 {
		text += fmt.Sprintf("; %s %s left out", count(in.lost, "model"), be(in.lost))
	}
	if in.includes {
		text += "; models of the files in include are not among them"
	}
	if len(in.notes) > 0 {
		text += "; see the differences above, " + count(len(in.notes), "line")
	}
	if in.keys {
		text += "; nobody needs a key until you set keys"
	}
	return text + ". Next: toolpost serve --check"
}

// keyName returns the name of a key.
func keyName(k ast.Node) string { return strings.Trim(k.String(), `"'`) }

// truth parses a boolean like LiteLLM, which uses YAML 1.1: True, yes and on mean true. known is false for other
// values.
func truth(n ast.Node) (on, known bool) {
	switch strings.ToLower(configcheck.Scalar(n)) {
	case "true", "yes", "on", "y":
		return true, true
	case "false", "no", "off", "n":
		return false, true
	}
	return false, false
}

func items(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return nil
}

// section imports one section of the file.
func (in *importer) section(key, value ast.Node) {
	switch name := keyName(key); name {
	case "model_list":
		for _, m := range items(value) {
			in.model(m)
		}
	case "router_settings", "litellm_settings", "general_settings":
		for k, v := range configcheck.Members(value) {
			in.setting(name, k, v)
		}
	case "environment_variables":
		in.skip(key, "environment_variables is not taken over: set the variables of vendors' keys where the gateway is started")
	case "include":
		in.includes = true
		in.skip(key, "include is not taken over: models and settings of those files are missing; import each of them, and put what they give together")
	default:
		in.skip(key, "%s is not taken over%s", name, hints[name])
	}
}

// count returns a number with a noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
