package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/internal/outgoing"
)

// maxAnswer limits the result of a declared tool.
const maxAnswer = 1 << 20

// command returns the function that runs d's program.
func (d Declared) command(c Command) func(context.Context, json.RawMessage) (tool.Output, error) {
	return func(ctx context.Context, raw json.RawMessage) (tool.Output, error) {
		args, err := outgoing.Arguments(raw)
		if err != nil {
			return tool.Output{}, err
		}
		line, err := d.line(args)
		if err != nil {
			return tool.Output{}, err
		}
		out, problems := &middleCut{limit: maxAnswer}, &middleCut{limit: 16 << 10}
		cmd := exec.CommandContext(ctx, line[0], line[1:]...)
		cmd.Env = passed(d.Env)
		cmd.Stdin = bytes.NewReader(raw)
		cmd.Stdout, cmd.Stderr = out, problems
		err = c.contained(cmd)
		return d.result(ctx, cmd, line, out, problems, err)
	}
}

// preview returns the program that d would run for a call, or its request to a server.
func (d Declared) preview(dir string) func(context.Context, json.RawMessage) (tool.Preview, error) {
	return func(ctx context.Context, raw json.RawMessage) (tool.Preview, error) {
		args, err := outgoing.Arguments(raw)
		if err != nil {
			return tool.Preview{}, err
		}
		if d.HTTP == nil {
			line, err := d.line(args)
			if err == nil {
				_, err = findProgram(dir, line[0])
			}
			return tool.Preview{Command: line, Dir: dir, Input: string(raw)}, err
		}
		req, err := d.HTTP.request(ctx, args, raw)
		if err != nil {
			return tool.Preview{}, err
		}
		return tool.Preview{Request: req.Method + " " + req.URL.String()}, nil
	}
}

// bind returns what d would run or ask for a call: the command line with its program
// files, or the request with the headers and variables that the description names.
func (d Declared) bind(dir string) func(context.Context, json.RawMessage) ([]tool.Pin, error) {
	preview := d.preview(dir)
	return func(ctx context.Context, raw json.RawMessage) ([]tool.Pin, error) {
		p, err := preview(ctx, raw)
		if err != nil {
			return nil, err
		}
		if d.HTTP != nil {
			headers, err := json.Marshal(d.HTTP.Headers) // the names of variables, not their values
			return append(p.Pins(), tool.Pin{Name: "headers", Value: string(headers)}), err
		}
		pins, err := commandPins(p)
		return append(pins, tool.Pin{Name: "variables", Value: strings.Join(d.Env, " ")}), err
	}
}

// result returns the outcome of a program. Its standard output is the result;
// its standard error is included only if it failed.
func (d Declared) result(ctx context.Context, cmd *exec.Cmd, line []string, out, problems *middleCut, err error) (tool.Output, error) {
	if cannotRun(cmd, err) {
		return tool.Output{}, tool.Errorf(tool.NotFound, "%s cannot be run: %v", line[0], startError(err))
	}
	code := cmd.ProcessState.ExitCode()
	result := tool.Text(strings.TrimSuffix(out.String(), "\n"))
	result.ExitCode = &code
	if !d.Effects.Has(tool.ReadOnly) {
		shown, _ := json.Marshal(line)
		result.Did = []tool.SideEffect{{Type: "command_executed", Path: line[0], Detail: map[string]json.RawMessage{"command": shown}}}
	}
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case code != 0:
		said := strings.TrimSpace(problems.String() + "\n" + out.String())
		return result, tool.Errorf(tool.Execution, "%s failed with exit code %d: %s", line[0], code, said)
	}
	return result, nil
}

// passed returns the variables of these names that are set.
func passed(names []string) []string {
	var env []string
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// line returns the program and its arguments for a call.
func (d Declared) line(args map[string]any) ([]string, error) {
	line := []string{d.Command[0]}
	ended := false // after --, arguments are not options
	for _, word := range d.Command[1:] {
		ended = ended || word == "--"
		names := places(word)
		if len(names) == 0 {
			line = append(line, word)
			continue
		}
		whole := len(names) == 1 && word == "{"+names[0]+"}"
		for _, text := range substitute(word, names, whole, args) {
			switch {
			case strings.ContainsRune(text, 0):
				return nil, tool.Errorf(tool.Validation, "an argument of a program cannot hold a NUL byte")
			case whole && !ended && strings.HasPrefix(text, "-"):
				return nil, withFix(tool.Errorf(tool.Validation, "%s starts with %q, which %s would read as an option", names[0], "-", d.Command[0]),
					"Give a value that does not start with a hyphen, like ./-name for a file.")
			}
			line = append(line, text)
		}
	}
	return line, nil
}

// substitute returns the replacement of a word of a command: no words if the
// whole word is one name that the call does not have, and a word per item if
// its value is a list.
func substitute(word string, names []string, whole bool, args map[string]any) []string {
	if whole {
		v, ok := args[names[0]]
		if list, is := v.([]any); is {
			out := make([]string, len(list))
			for i, item := range list {
				out[i] = outgoing.Plain(item)
			}
			return out
		}
		if !ok || v == nil {
			return nil
		}
		return []string{outgoing.Plain(v)}
	}
	return []string{replace(word, names, func(name string) string { return outgoing.Plain(args[name]) })}
}

// replace puts values in the place of names in braces, once: a value that has
// braces is not read again.
func replace(text string, names []string, value func(string) string) string {
	pairs := make([]string, 0, 2*len(names))
	for _, name := range names {
		pairs = append(pairs, "{"+name+"}", value(name))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// check refuses an endpoint whose host could be chosen by a call.
func (e *Endpoint) check() error {
	u, err := url.Parse(replace(e.URL, places(e.URL), func(string) string { return "x" }))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("http needs a url like https://api.example.org/things/{id}, and %q is none", e.URL)
	case u.User != nil:
		return errors.New("a password in a url ends up in records; use headers with ${NAME}")
	case !strings.HasPrefix(e.URL, u.Scheme+"://"+u.Host):
		return fmt.Errorf("the host of %q cannot come from the call", e.URL)
	}
	return nil
}

// endpoints asks the servers of declared tools.
var endpoints = outbound.New(outbound.Rules{Redirect: func(next *url.URL, via []*http.Request) error {
	if err := outbound.SameHost(next, via); err != nil {
		return tool.Errorf(tool.Permission, "%v", err)
	}
	return nil
}})

// Secrets returns the values that only the server should read: variables in
// headers, and the values of headers with the name of a credential.
func (e *Endpoint) Secrets() []string {
	var out []string
	for name, value := range e.Headers {
		os.Expand(value, func(v string) string {
			out = append(out, os.Getenv(v))
			return ""
		})
		if secret.IsCredential(name) && !strings.Contains(value, "$") {
			parts := secret.OfHeader(value)
			out = append(out, parts[len(parts)-1])
		}
	}
	return secret.Values(out)
}

// Secrets returns the values that only the tool's server or program should
// read: those in its headers, and in its variables that are named like a
// credential.
func (d Declared) Secrets() []string {
	var out []string
	if d.HTTP != nil {
		out = d.HTTP.Secrets()
	}
	for _, name := range d.Env {
		if secret.IsCredential(name) {
			out = append(out, os.Getenv(name))
		}
	}
	return secret.Values(out)
}

// call asks the server.
func (e *Endpoint) call(ctx context.Context, raw json.RawMessage) (tool.Output, error) {
	args, err := outgoing.Arguments(raw)
	if err != nil {
		return tool.Output{}, err
	}
	req, err := e.request(ctx, args, raw)
	if err != nil {
		return tool.Output{}, err
	}
	return Ask(req, e.Secrets())
}

// Ask sends the request of a tool and returns the answer as its output, at most
// a mebibyte of it. An answer other than 2xx is a *[tool.Error] with the text
// of the answer. Redirects are followed on the same host only. secrets are the
// credentials in req: it is not sent if a proxy could read them.
func Ask(req *http.Request, secrets []string) (tool.Output, error) {
	ctx := req.Context()
	if proxy := outbound.ReadableBy(endpoints, req); proxy != nil && len(secrets) > 0 {
		return tool.Output{}, tool.Errorf(tool.Permission, "%s was not asked: the proxy %s could read the key in its headers; use https, or except the host with NO_PROXY", req.URL.Host, proxy.Host)
	}
	resp, err := endpoints.Do(req)
	if err != nil {
		return tool.Output{}, failure(ctx, req.URL.Host, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return tool.Output{}, failure(ctx, req.URL.Host, err)
	}
	text := strings.ToValidUTF8(secret.Head(string(body), maxAnswer), "\uFFFD")
	if resp.StatusCode/100 != 2 {
		failed := tool.FromError(statusFailure(req.URL.Host, resp))
		if said := strings.TrimSpace(text); said != "" {
			failed.Message += ": " + secret.Head(said, 2000)
		}
		return tool.Output{}, failed
	}
	if len(body) > maxAnswer {
		text += fmt.Sprintf("\n[cut after %d bytes]", maxAnswer)
	}
	if kind := binary(resp.Header); kind != "" {
		text = fmt.Sprintf("[%d bytes of %s, which is not text]", len(body), kind)
	}
	if req.Method == http.MethodHead || len(body) == 0 {
		text = resp.Status
	}
	return tool.Text(text), nil
}

// binary returns the type of an answer other than text.
func binary(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	for _, start := range []string{"image/", "audio/", "video/", "font/", "application/octet-stream", "application/pdf", "application/zip", "application/gzip"} {
		if strings.HasPrefix(kind, start) && kind != "image/svg+xml" {
			return kind
		}
	}
	return ""
}

// request puts a call's arguments where the endpoint wants them.
func (e *Endpoint) request(ctx context.Context, args map[string]any, raw json.RawMessage) (*http.Request, error) {
	names := places(e.URL)
	path, query, asked := strings.Cut(e.URL, "?")
	for _, n := range places(path) {
		if v := outgoing.Plain(args[n]); v == "" || v == "." || v == ".." {
			return nil, tool.Errorf(tool.Validation, "%s cannot be %q: it is part of an address", n, v)
		}
	}
	address := replace(path, names, func(n string) string { return url.PathEscape(outgoing.Plain(args[n])) })
	if asked {
		address += "?" + replace(query, names, func(n string) string { return url.QueryEscape(outgoing.Plain(args[n])) })
	}
	method := strings.ToUpper(e.Method)
	if method == "" {
		method = http.MethodPost
	}
	var body io.Reader
	if method != http.MethodGet && method != http.MethodDelete {
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, tool.Errorf(tool.Validation, "the arguments make no address")
	}
	if body == nil {
		q := req.URL.Query()
		for _, name := range slices.Sorted(maps.Keys(args)) {
			if !slices.Contains(names, name) {
				q.Set(name, outgoing.Plain(args[name]))
			}
		}
		req.URL.RawQuery = q.Encode()
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "toolpost")
	return req, outgoing.SetHeaders(req, e.Headers)
}
