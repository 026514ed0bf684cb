package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// peer is a gateway of others: how to install it below a folder, and how to start it. In every text
// {dir} is its own folder, {port} the port that it listens on, and {up} the address of the upstream.
type peer struct {
	name     string
	files    map[string]string
	install  [][]string // commands, run in {dir}
	program  []string
	own      string // the name of the program if it stands in PATH, which is used rather than installed
	args     []string
	env      []string
	headers  []string
	model    string // what it calls the model; empty means bench
	messages bool   // it also takes Anthropic's format for an upstream of Chat Completions
}

var allPeers = []peer{
	{
		name: "LiteLLM 1.106.2",
		files: map[string]string{"config.yaml": `model_list:
  - model_name: bench
    litellm_params: {model: openai/bench, api_base: '{up}/v1', api_key: none}
litellm_settings: {use_chat_completions_url_for_anthropic_messages: true} # else it asks for Responses
router_settings: {disable_cooldowns: true}
`},
		install: [][]string{
			{"python3", "-m", "venv", "venv"},
			{"venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "litellm[proxy]==1.106.2"},
		},
		program: []string{"venv/bin/litellm"},
		args:    []string{"--config", "config.yaml", "--host", "127.0.0.1", "--port", "{port}", "--telemetry", "False"},
		// Without the first it does not start without a key, without the second it asks for a list of prices.
		env:      []string{"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true", "LITELLM_LOCAL_MODEL_COST_MAP=True"},
		messages: true,
	},
	{
		name: "Portkey 1.15.2",
		files: map[string]string{
			// With the newest @hono/node-server that it allows, every stream ends in "TypeError: immutable".
			"package.json": `{"private":true,"dependencies":{"@portkey-ai/gateway":"1.15.2"},"overrides":{"@hono/node-server":"1.13.8"}}`,
			// It listens on every address of the machine and has no option for one.
			"loopback.cjs": `const { Server } = require('net'), { listen } = Server.prototype;
Server.prototype.listen = function (to, ...rest) {
  return listen.call(this, { ...(typeof to === 'object' ? to : { port: to }), host: '127.0.0.1' }, rest.find((one) => typeof one === 'function'));
};
`,
		},
		install: [][]string{{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}},
		program: []string{"node", "-r", "./loopback.cjs", "node_modules/@portkey-ai/gateway/build/start-server.js"},
		args:    []string{"--headless", "--port={port}"},
		headers: []string{"x-portkey-provider: openai", "x-portkey-custom-host: {up}/v1", "Authorization: Bearer none"},
	},
	{
		name: "Bifrost",
		files: map[string]string{
			// The package only downloads the program, from a host of its maker's.
			"package.json": `{"private":true,"dependencies":{"@maximhq/bifrost":"1.6.3"}}`,
			"app/config.json": `{"providers":{"openai":{"keys":[{"name":"bench","value":"none","models":["*"],"weight":1}],"network_config":{"base_url":"{up}"}}},
"config_store":{"enabled":false},"logs_store":{"enabled":false},"client":{"enable_logging":false}}`,
		},
		install: [][]string{{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}},
		program: []string{"node", "node_modules/@maximhq/bifrost/bin.js"},
		own:     "bifrost-http",
		args:    []string{"-app-dir", "{dir}/app", "-host", "127.0.0.1", "-port", "{port}", "-log-level", "error"},
		model:   "openai/bench",
	},
}

// installLimit and readyLimit bound what a peer may take on a busy machine.
const (
	installLimit = 10 * time.Minute
	readyLimit   = 2 * time.Minute
)

// startPeers installs the peers below dir, those that are not there yet, and starts them. One that
// cannot be had is named in a line with the reason, and left out.
func (p *processes) startPeers(dir, up string) []target {
	var targets []target
	for _, one := range allPeers {
		t, err := p.startPeer(one, dir, up)
		if err != nil {
			fmt.Printf("%s is left out: %v\n", one.name, err)
			continue
		}
		targets = append(targets, t)
		if one.messages {
			t.name, t.messages = t.name+", translating", true
			targets = append(targets, t)
		}
	}
	return targets
}

func (p *processes) startPeer(one peer, dir, up string) (target, error) {
	name, _, _ := strings.Cut(strings.ToLower(one.name), " ")
	home, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return target{}, err
	}
	port, err := freePort()
	if err != nil {
		return target{}, err
	}
	fill := strings.NewReplacer("{dir}", home, "{port}", port, "{up}", up)
	if err := one.write(home, fill); err != nil {
		return target{}, err
	}
	if found, err := exec.LookPath(one.own); err == nil {
		one.program = []string{found}
	} else if err := one.installed(home); err != nil {
		return target{}, fmt.Errorf("it cannot be installed: %w", err)
	}
	c, said := one.command(home, fill)
	server, err := p.run(c)
	if err != nil {
		return target{}, err
	}
	t := target{name: one.name, url: "http://127.0.0.1:" + port, pid: server.Process.Pid, model: one.model, other: true}
	for _, header := range one.headers {
		t.headers = append(t.headers, fill.Replace(header))
	}
	if err := server.answers(t, readyLimit); err != nil {
		return target{}, fmt.Errorf("it does not answer: %w; it said: %s", err, said)
	}
	return t, nil
}

func (one peer) write(home string, fill *strings.Replacer) error {
	for name, text := range one.files {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(fill.Replace(text)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// installed installs what is not there. A file keeps the commands that were done.
func (one peer) installed(home string) error {
	done, recipe := filepath.Join(home, "installed"), fmt.Sprint(one.install, one.files["package.json"])
	if b, err := os.ReadFile(done); err == nil && string(b) == recipe {
		return nil
	}
	fmt.Fprintf(os.Stderr, "installing %s\n", one.name)
	ctx, cancel := context.WithTimeout(context.Background(), installLimit)
	defer cancel()
	for _, args := range one.install {
		c := exec.CommandContext(ctx, within(home, args[0]), args[1:]...)
		c.Dir = home
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %.300s", strings.Join(args, " "), err, bytes.TrimSpace(out))
		}
	}
	return os.WriteFile(done, []byte(recipe), 0o600)
}

// command is the peer as a process, in an environment that holds no key of the user's.
func (one peer) command(home string, fill *strings.Replacer) (*exec.Cmd, *tail) {
	args := slices.Clone(one.program[1:])
	for _, arg := range one.args {
		args = append(args, fill.Replace(arg))
	}
	c, said := exec.Command(within(home, one.program[0]), args...), &tail{}
	c.Dir, c.Stdout, c.Stderr = home, said, said
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, one.env...)
	return c, said
}

// within finds a program that was installed below home; others are those of the system.
func within(home, program string) string {
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		return filepath.Join(home, program)
	}
	return program
}

// answers waits until the target answers a request whole.
func (c *process) answers(t target, limit time.Duration) error {
	q := t.question("json")
	for begin := time.Now(); ; {
		_, err := ask(q)
		if err == nil || time.Since(begin) > limit {
			return err
		}
		select {
		case <-c.ended:
			return errors.New("it has ended")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tail keeps the end of what a process says.
type tail struct {
	mu   sync.Mutex
	last []byte
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	t.last = slices.Clone(t.last[max(0, len(t.last)-4096):])
	return len(b), nil
}

// String returns the last line that speaks of an error, or the last of all.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.last)), "\n")
	line := lines[len(lines)-1]
	for _, one := range lines {
		if strings.Contains(strings.ToLower(one), "error") {
			line = one
		}
	}
	return strings.TrimSpace(line)
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}
