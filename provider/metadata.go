package provider

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// The bounds of a question about metadata.
const (
	factsTimeout = 3 * time.Second
	maxFactsSize = 4 << 20
)

// self are the servers that people run themselves, and how their metadata is read.
// They are asked without a key.
var self = map[string]func(context.Context, *Model, *facts) error{
	"llamacpp": askLlama, "ollama": askOllama, "vllm": askModels, "sglang": askModels, "lmstudio": askModels, compatible: askLlama,
}

// discovered returns the model with the metadata of its server. The server is asked
// once, before the first request that depends on it, and again with the next request
// if it does not respond.
func (m *Model) discovered(ctx context.Context, req *llm.Request) *Model {
	ask := self[cmp.Or(m.vendor.server, m.vendor.Name)]
	if ask == nil || len(req.Tools) == 0 && req.Output == nil || m.info.NativeTools.Support == catalog.Yes && m.ownWord()["native_tools"] {
		return m.informed()
	}
	if m.client.facts.get(m.key()) == nil {
		ctx, cancel := context.WithTimeout(ctx, factsTimeout)
		defer cancel()
		f := &facts{}
		if err := ask(ctx, m, f); err == nil {
			m.client.facts.put(m.key(), f)
		}
	}
	return m.informed()
}

// informed returns the model with the metadata that is known so far. The user's file
// and the program take precedence.
func (m *Model) informed() *Model {
	f := m.client.facts.get(m.key())
	if f == nil || len(f.why) == 0 {
		return m
	}
	if known := m.settled.informed.Load(); known != nil && known.facts == f {
		return known
	}
	out := *m
	if f.name != "" && !m.info.ID.Known() {
		out.info = m.client.catalog().Lookup(m.vendor.Name + "/" + f.name)
	}
	out.facts = f
	out.learnFrom(f)
	out.settle()
	m.settled.informed.Store(&out)
	return &out
}

// learnFrom takes over what the server says.
func (m *Model) learnFrom(f *facts) {
	sure := m.ownWord()
	set := func(name string, a *catalog.Answer, s catalog.Support) {
		if s != catalog.Unknown && !sure[name] {
			*a = catalog.Answer{Support: s}
		}
	}
	set("native_tools", &m.info.NativeTools, f.tools)
	set("reasoning", &m.info.Reasoning, f.reasoning)
	if f.params > 0 {
		m.info.ID.Size = f.params
	}
	if f.context > 0 && !sure["context_window"] {
		m.info.ContextWindow = f.context
	}
	if f.dialect != "" && !sure["dialect"] {
		m.info.Dialect = f.dialect
	}
	if m.info.Constrain == "" {
		m.info.Constrain = constraints[f.server]
	}
	if f.server != llamaServer {
		return
	}
	// It takes a grammar with every request, and demanding a call is more than
	// its templates do.
	set("tool_choice_required", &m.info.ToolChoiceRequired, catalog.No)
	if !m.format().HostFields && m.info.NativeTools.Support != catalog.Yes {
		m.moved = fmt.Sprintf("the server drops constraints from the %s format, so it is asked in %s", m.wire, llamaFormat)
		m.wire = llamaFormat
	}
}

// constraints are the fields in which servers take a schema for the answer.
var constraints = map[string]string{llamaServer: jsonSchemaField, ollamaServer: wire.Codec{Format: wire.Ollama}.Properties().OutputField}

// ownWord returns the capabilities that the user's file or program speaks of.
func (m *Model) ownWord() map[string]bool {
	out := map[string]bool{}
	for _, w := range m.info.Explain() {
		if w.From == "program" || strings.ContainsAny(w.From, `/\`) {
			out[w.Field] = true
		}
	}
	return out
}

const (
	llamaServer  = "llama.cpp"
	ollamaServer = "ollama"
	llamaFormat  = wire.Chat // in which it takes all its own fields
)

// askLlama asks a llama.cpp server for its properties, or, where it has none,
// what every server says.
func askLlama(ctx context.Context, m *Model, f *facts) error {
	var props struct {
		Path     string          `json:"model_path"`
		Template string          `json:"chat_template"`
		Caps     map[string]bool `json:"chat_template_caps"`
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if err := m.client.metadata(ctx, http.MethodGet, root(m.base)+"/props", nil, &props); err != nil {
		return err
	}
	if props.Path != "" {
		f.server, f.context, f.name = llamaServer, props.Settings.Context, path.Base(strings.ReplaceAll(props.Path, `\`, "/"))
		f.because("it is a llama.cpp server")
	}
	if has, ok := props.Caps["supports_tools"]; ok {
		f.tools = catalog.No
		if has {
			f.tools = catalog.Yes
		}
		f.because("its chat template %s tools (/props)", map[bool]string{true: "has", false: "has no"}[has])
	}
	f.dialect, _ = m.client.dialects().FromTemplate(props.Template)
	return askModels(ctx, m, f)
}

// listed is a model in a server's list.
type listed struct {
	ID      string `json:"id"`
	Context int    `json:"max_model_len"`         // vLLM
	Loaded  int    `json:"loaded_context_length"` // LM Studio
	Meta    struct {
		Params  int64 `json:"n_params"` // llama.cpp
		Context int   `json:"n_ctx"`
	} `json:"meta"`
}

// askModels reads the list of models.
func askModels(ctx context.Context, m *Model, f *facts) error {
	var list struct {
		Data []listed `json:"data"`
	}
	if err := m.client.metadata(ctx, http.MethodGet, m.base.JoinPath("models").String(), nil, &list); err != nil {
		return err
	}
	i := slices.IndexFunc(list.Data, func(d listed) bool { return d.ID == m.model })
	if i < 0 && len(list.Data) == 1 && f.server == llamaServer { // it serves one model under any name
		i = 0
	}
	if i < 0 {
		return nil
	}
	d := list.Data[i]
	if d.Meta.Params > 0 {
		f.params = d.Meta.Params
		f.because("the model has %s parameters (/models)", count(d.Meta.Params))
	}
	for _, n := range []int{f.context, d.Meta.Context, d.Context, d.Loaded} {
		if n > 0 {
			f.context = n
			f.because("its context is %d tokens", n)
			break
		}
	}
	return nil
}

// askOllama asks an Ollama server about the model.
func askOllama(ctx context.Context, m *Model, f *facts) error {
	var show struct {
		Capabilities []string                   `json:"capabilities"`
		Info         map[string]json.RawMessage `json:"model_info"`
		Template     string                     `json:"template"`
	}
	body := js.Marshal(map[string]string{"model": m.model})
	if err := m.client.metadata(ctx, http.MethodPost, m.base.JoinPath("show").String(), body, &show); err != nil {
		return err
	}
	f.server = ollamaServer
	if len(show.Capabilities) > 0 {
		f.tools, f.reasoning = catalog.No, catalog.No
		if slices.Contains(show.Capabilities, "tools") {
			f.tools = catalog.Yes
		}
		if slices.Contains(show.Capabilities, "thinking") {
			f.reasoning = catalog.Yes
		}
		f.because("the server says that it can do: %s (/api/show)", strings.Join(show.Capabilities, ", "))
	}
	_ = json.Unmarshal(show.Info["general.parameter_count"], &f.params) // absent or wrong: unknown
	for key, v := range show.Info {
		if strings.HasSuffix(key, ".context_length") {
			_ = json.Unmarshal(v, &f.context) // wrong: unknown
		}
	}
	f.dialect, _ = m.client.dialects().FromTemplate(show.Template)
	return nil
}

// metadata reads a JSON document from the server. The value is not changed if the
// server does not have the document.
func (c *Client) metadata(ctx context.Context, method, address string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.httpClient().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxFactsSize))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusServiceUnavailable:
		return fmt.Errorf("%s is still loading", address)
	case resp.StatusCode == http.StatusOK:
		_ = json.Unmarshal(b, into) // another kind of server: nothing is learned
	}
	return nil
}

// root is the address of a server without the version of its API.
func root(base *url.URL) string {
	return strings.TrimSuffix(strings.TrimSuffix(base.String(), "/"), "/v1")
}

// count writes a number of parameters: 135M.
func count(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3gB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3gM", float64(n)/1e6)
	}
	return fmt.Sprint(n)
}
