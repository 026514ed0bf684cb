package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
	"github.com/toolpost/toolpost/tool/openapi"
)

// addFlags describe the tool that tools add writes.
type addFlags struct {
	file, description, url, method, timeout string
	params, headers, effects                []string
}

func newToolsAdd() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add NAME -d DESCRIPTION [-p PARAMETER]... [-- PROGRAM ARGUMENT...]",
		Short: "Add a tool to a file",
		Long: `Add a tool to a file of tools, which is made if it is not there. A program does the work,
given behind --, or a server, given with --url. {name} in an argument or an address
stands for the value of that parameter; no shell reads it.

A parameter is NAME, then :TYPE (string, integer, number, boolean, array, object; string
if not given), then ! if every call needs it, then =DESCRIPTION.

What stands in the file stays as it is. A tool that promises nothing with --effects is
asked about before each call.`,
		Example: `  toolpost tools add word_count -d "Count the words in a file." -p 'path!=The file, like notes.txt' --effects read_only,local -- wc -w {path}
  toolpost tools add get_page -d "Get a page of the wiki." -p 'title!=Its title' --url 'https://wiki.example.org/pages/{title}' --method GET --effects read_only
  toolpost tools call --tools tools.yaml word_count '{"path":"README.md"}'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.add(cmd, args) },
	}
	cmd.Flags().StringVar(&f.file, "tools", "tools.yaml", "the `FILE` to add it to")
	cmd.Flags().StringVarP(&f.description, "description", "d", "", "what a model is told about it")
	cmd.Flags().StringArrayVarP(&f.params, "param", "p", nil, "a `PARAMETER`, like 'city!=Name of a city'; may be repeated")
	cmd.Flags().StringVar(&f.url, "url", "", "ask the server at this `ADDRESS`")
	cmd.Flags().StringVar(&f.method, "method", "", "how to ask it (default POST)")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "a `HEADER`, like 'Authorization: Bearer ${TOKEN}', with variables of the environment; may be repeated")
	cmd.Flags().StringSliceVar(&f.effects, "effects", nil, "what it promises: read_only, idempotent, local")
	cmd.Flags().StringVar(&f.timeout, "timeout", "", "how long a call may take, like `30s`")
	return cmd
}

func (f addFlags) add(cmd *cobra.Command, args []string) error {
	entry, err := f.entry(cmd, args)
	if err != nil {
		return err
	}
	old, err := cli.ReadBounded(f.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := appended([]byte(old), entry)
	if err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	if err := usable(f.file, text); err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	if err := cli.ReplaceFile(f.file, text, 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is in %s now; try it: toolpost tools call --tools %s %s '{…}'\n", args[0], f.file, f.file, args[0])
	return err
}

// usable checks the text of a file together with all built-in tools, as run would. A file that run refuses is then not
// written.
func usable(file string, text []byte) error {
	files, err := builtin.OpenFiles(".")
	if err != nil {
		return err
	}
	defer files.Close()
	s := toolset.All(".")
	tools, err := toolset.List(s, files)
	if err == nil {
		tools, err = toolset.AddText(s, tools, file, text)
	}
	if err == nil {
		_, err = tool.NewSet(tools...)
	}
	return err
}

// entry returns the tool as an entry of a file, with its keys in reading order.
func (f addFlags) entry(cmd *cobra.Command, args []string) (yaml.MapSlice, error) {
	at := cmd.ArgsLenAtDash()
	command := args[1:]
	switch {
	case at == 0:
		return nil, cli.Usagef(cmd, "the NAME of the tool comes before --")
	case at < 0 && len(args) > 1, at > 1:
		return nil, cli.Usagef(cmd, "the program and its arguments come after --")
	case f.description == "":
		return nil, cli.Usagef(cmd, "--description is missing: it is all that a model knows of the tool")
	case len(command) == 0 && f.url == "":
		return nil, cli.Usagef(cmd, "who does the work? give a program after --, or a server with --url")
	case len(command) > 0 && f.url != "":
		return nil, cli.Usagef(cmd, "both a program and --url: one does the work")
	case f.url == "" && (f.method != "" || len(f.headers) > 0):
		return nil, cli.Usagef(cmd, "--method and --header belong to --url")
	}
	params, err := parameters(f.params)
	if err != nil {
		return nil, cli.Usagef(cmd, "--param %w", err)
	}
	out := yaml.MapSlice{{Key: "name", Value: args[0]}, {Key: "description", Value: f.description}, {Key: "parameters", Value: params}}
	if len(f.effects) > 0 {
		out = append(out, yaml.MapItem{Key: "effects", Value: f.effects})
	}
	if f.timeout != "" {
		out = append(out, yaml.MapItem{Key: "timeout", Value: f.timeout})
	}
	if len(command) > 0 {
		return append(out, yaml.MapItem{Key: "command", Value: command}), nil
	}
	endpoint := yaml.MapSlice{{Key: "url", Value: f.url}}
	if f.method != "" {
		endpoint = append(endpoint, yaml.MapItem{Key: "method", Value: strings.ToUpper(f.method)})
	}
	headers := yaml.MapSlice{}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, cli.Usagef(cmd, "--header is NAME: VALUE, and %q is not", h)
		}
		headers = append(headers, yaml.MapItem{Key: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	if len(headers) > 0 {
		endpoint = append(endpoint, yaml.MapItem{Key: "headers", Value: headers})
	}
	return append(out, yaml.MapItem{Key: "http", Value: endpoint}), nil
}

// parameterTypes are the types of --param.
var parameterTypes = []string{"string", "integer", "number", "boolean", "array", "object"}

// parameters returns the schema for the values of --param.
func parameters(words []string) (yaml.MapSlice, error) {
	properties := yaml.MapSlice{}
	var required []string
	for _, word := range words {
		head, description, _ := strings.Cut(word, "=")
		head, needed := strings.CutSuffix(head, "!")
		name, kind, typed := strings.Cut(head, ":")
		if !typed {
			kind = "string"
		}
		if name == "" || !slices.Contains(parameterTypes, kind) {
			return nil, fmt.Errorf("%q: it is NAME:TYPE!=DESCRIPTION, and TYPE one of %s", word, strings.Join(parameterTypes, ", "))
		}
		p := yaml.MapSlice{{Key: "type", Value: kind}}
		if kind == "array" {
			p = append(p, yaml.MapItem{Key: "items", Value: yaml.MapSlice{{Key: "type", Value: "string"}}})
		}
		if description != "" {
			p = append(p, yaml.MapItem{Key: "description", Value: description})
		}
		properties = append(properties, yaml.MapItem{Key: name, Value: p})
		if needed {
			required = append(required, name)
		}
	}
	out := yaml.MapSlice{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
	if len(required) > 0 {
		out = append(out, yaml.MapItem{Key: "required", Value: required})
	}
	return out, nil
}

// appended returns the text of a tools file with an additional tool at its end. It keeps the existing text with its
// comments, unless the file is JSON.
func appended(old []byte, entry yaml.MapSlice) ([]byte, error) {
	before, err := builtin.ParseDeclared(old)
	if err != nil {
		return nil, err
	}
	block, err := yaml.Marshal([]yaml.MapSlice{entry})
	if err != nil {
		return nil, err
	}
	if _, err := builtin.ParseDeclared(block); err != nil {
		return nil, err
	}
	var text []byte
	if start := bytes.TrimSpace(old); len(start) > 0 && (start[0] == '[' || start[0] == '{') {
		text, err = appendedJSON(old, block)
	} else {
		text = appendedYAML(old, block)
	}
	if err == nil {
		var after []builtin.Declared
		if after, err = builtin.ParseDeclared(text); err == nil && len(after) != len(before)+1 {
			err = errors.New("its last key is not the list of tools")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the tool cannot be added to it: %w; write this into it:\n%s", err, block)
	}
	return text, nil
}

// appendedYAML appends the entry with the indentation of the list.
func appendedYAML(old, block []byte) []byte {
	indent := ""
	for line := range strings.Lines(string(old)) {
		if rest := strings.TrimLeft(line, " "); strings.HasPrefix(rest, "- ") {
			indent = line[:len(line)-len(rest)]
			break
		}
	}
	text := bytes.Clone(old)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	for line := range strings.Lines(string(block)) {
		text = append(text, indent+line...)
	}
	return text
}

// appendedJSON appends to a list, or to the list in "tools".
func appendedJSON(old, block []byte) ([]byte, error) {
	added, err := yaml.YAMLToJSON(block)
	if err != nil {
		return nil, err
	}
	var entry, list []json.RawMessage
	if err := json.Unmarshal(added, &entry); err != nil {
		return nil, err
	}
	var whole any
	if json.Unmarshal(old, &list) == nil {
		whole = append(list, entry...)
	} else {
		var keyed map[string]json.RawMessage
		if err := json.Unmarshal(old, &keyed); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(keyed["tools"], &list); err != nil {
			return nil, errors.New("it is not a list of tools")
		}
		if keyed["tools"], err = json.Marshal(append(list, entry...)); err != nil {
			return nil, err
		}
		whole = keyed
	}
	out := new(bytes.Buffer)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(whole)
	return out.Bytes(), err
}

// printLosses prints what the operations of a document lose as tools.
func printLosses(cmd *cobra.Command, file string) error {
	if file == "" || file == "-" {
		return cli.Usagef(cmd, "--losses is for an OpenAPI document: name it with --tools")
	}
	text, err := cli.ReadBounded(file)
	if err != nil {
		return err
	}
	if !toolfile.IsAPI([]byte(text)) {
		return cli.Usagef(cmd, "--losses is for an OpenAPI document, and %s is none", file)
	}
	a, err := toolfile.ReadAPI(file, []byte(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), append([]openapi.Loss{}, a.Losses...))
	}
	for _, l := range a.Losses {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(cli.InOneLine(l.String()))); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s as tools, %s\n", cli.Count(len(a.Tools), "operation"), cli.CountAs(len(a.Losses), "loss", "losses"))
	return err
}
