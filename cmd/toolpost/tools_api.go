package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/openapi"
)

// isAPI reports whether a file of tools is an OpenAPI document, or names one.
func isAPI(text []byte) bool { return openapi.Is(text) || openapi.IsConfig(text) }

// api is an OpenAPI document as tools.
type api struct {
	doc    *openapi.Document
	config openapi.Config
	tools  []tool.Tool
	losses []openapi.Loss
}

// readAPI reads a document, or the one that a file names, which stands beside it.
func readAPI(file string, text []byte) (*api, error) {
	a := new(api)
	var err error
	if !openapi.Is(text) {
		if a.config, err = openapi.ParseConfig(text); err != nil {
			return nil, err
		}
		if strings.Contains(a.config.File, "://") {
			return nil, fmt.Errorf("openapi: %s is an address, and nothing is fetched; save the document and name the file", a.config.File)
		}
		if file == "-" {
			file = ""
		}
		document := a.config.File
		if !filepath.IsAbs(document) {
			document = filepath.Join(filepath.Dir(file), document)
		}
		whole, err := readBounded(document)
		if err != nil {
			return nil, err
		}
		text = []byte(whole)
	}
	if a.doc, err = openapi.Parse(text); err != nil {
		return nil, err
	}
	a.tools, a.losses, err = a.doc.Tools(a.config, file)
	if err == nil && len(a.tools) == 0 {
		err = errors.New("none of its operations can be a tool: " + a.losses[0].String())
	}
	return a, err
}

// declareAPI adds the operations of an OpenAPI document.
func (s *settings) declareAPI(tools []tool.Tool, file string, text []byte) ([]tool.Tool, error) {
	a, err := readAPI(file, text)
	if err != nil {
		return nil, err
	}
	s.hidden = append(s.hidden, a.config.Secrets()...)
	return append(tools, a.tools...), nil
}

// printLosses says what the operations of a document lose as tools.
func printLosses(cmd *cobra.Command, file string) error {
	if file == "" || file == "-" {
		return usagef(cmd, "--losses is for an OpenAPI document: name it with --tools")
	}
	text, err := readBounded(file)
	if err != nil {
		return err
	}
	if !isAPI([]byte(text)) {
		return usagef(cmd, "--losses is for an OpenAPI document, and %s is none", file)
	}
	a, err := readAPI(file, []byte(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), append([]openapi.Loss{}, a.losses...))
	}
	for _, l := range a.losses {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), printable(inOneLine(l.String()))); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s as tools, %s\n", counted(len(a.tools), "operation"), counted2(len(a.losses), "loss", "losses"))
	return err
}

func counted2(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
