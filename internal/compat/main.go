// Command compat makes a folder of stores and settings as a version of toolpost leaves them:
//
//	go run ./internal/compat -make testdata/compat/NAME -bin BINARY [-postgres ADDRESS]
//
// The folder has journals (a folder, SQLite and PostgreSQL), the keys and the state of a gateway,
// configurations, a models.yaml, and calls that wait for approval. The test of this package opens
// every such folder with the current build. Make a new one when a store changes, and keep the old
// ones. ADDRESS is an empty database of a PostgreSQL server; pg_dump must be installed.
package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed source
var source embed.FS

// facts are the expectations of the test for a folder. They are in facts.json.
type facts struct {
	Journals map[string]runIDs   // by the kind of store
	Keys     map[string]keyFacts // by the kind of store
	Approved map[string]string   // requests with a call that was approved and has not run, by the kind of store
	Expired  map[string]string   // requests with a call whose deadline passed
}

// keyFacts are the keys of a store, and a response that was stored for the first.
type keyFacts struct{ Key, Other, Revoked, Response string }

// keyNames are the names of the keys.
var keyNames = []string{"laptop", "gone", "desk"}

// runIDs are the runs of a journal.
type runIDs struct{ Done, Waiting string }

func main() {
	dir := flag.String("make", "", "the `folder` to make")
	bin := flag.String("bin", "", "the `binary` that makes it")
	postgres := flag.String("postgres", "", "the `address` of an empty database")
	flag.Parse()
	if *dir == "" || *bin == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: compat -make FOLDER -bin BINARY [-postgres ADDRESS]")
		os.Exit(2)
	}
	if err := produce(context.Background(), *dir, *bin, *postgres); err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
		os.Exit(1)
	}
}

// produce makes the folder.
func produce(ctx context.Context, dir, bin, postgres string) (err error) {
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "toolpost-compat-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	p := &program{ctx: ctx, bin: bin, dir: work}
	files, err := source.ReadDir("source")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files { // with placeholders for the simulator and the stores
		text, err := source.ReadFile("source/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), text, 0o644); err != nil {
			return err
		}
	}
	sim, err := p.open(dir)
	if err != nil {
		return err
	}
	defer sim.stop()
	f := facts{Journals: map[string]runIDs{}, Keys: map[string]keyFacts{}, Approved: map[string]string{}, Expired: map[string]string{}}
	stores := map[string]string{"folder": "runs", "sqlite": "sqlite:runs.db"}
	if postgres != "" {
		stores["postgres"] = postgres
	}
	for kind, journal := range stores {
		if f.Journals[kind], err = p.runs(journal); err != nil {
			return err
		}
	}
	if err := p.gateway(&f, "sqlite", "gateway-runs", "sqlite:keys.db"); err != nil {
		return err
	}
	if postgres != "" {
		if err := p.gateway(&f, "postgres", postgres, postgres); err != nil {
			return err
		}
		if err := dump(ctx, postgres, filepath.Join(dir, "postgres.sql")); err != nil {
			return err
		}
	}
	for _, name := range []string{"runs", "gateway-runs", "runs.db", "keys.db"} {
		if err := copyTo(filepath.Join(work, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "facts.json"), append(text, '\n'), 0o644)
}

// program is a build of toolpost in a folder with its settings.
type program struct {
	ctx context.Context
	bin string
	dir string
	sim string // the address of the simulator
}

// open copies the settings of a folder of this package, and its stores, into the working folder, starts a simulator,
// and replaces SIM with its address.
func (p *program) open(from string) (*server, error) {
	if err := copyAs(from, p.dir, 0o600); err != nil {
		return nil, err
	}
	sim, err := p.start("sim", "--addr", "127.0.0.1:0", "--script", "script.txtar")
	if err != nil {
		return nil, err
	}
	p.sim = sim.address
	return sim, errors.Join(p.settle("config.yaml", "", ""), p.settle("gateway.yaml", "gateway-runs", "sqlite:keys.db"))
}

// settle fills the open places of a configuration.
func (p *program) settle(name, journal, keys string) error {
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	filled := strings.NewReplacer("SIM", p.sim, "JOURNAL", journal, "KEYS", keys).Replace(string(text))
	return os.WriteFile(filepath.Join(p.dir, name), []byte(filled), 0o600)
}

func (p *program) env() []string {
	return []string{"HOME=" + p.dir, "XDG_STATE_HOME=" + p.dir, "XDG_CONFIG_HOME=" + p.dir, "XDG_CACHE_HOME=" + p.dir, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "TOOLPOST_MODELS=" + filepath.Join(p.dir, "models.yaml")}
}

// command runs the program and returns its exit code and output.
func (p *program) command(args ...string) (code int, stdout, stderr string, err error) {
	cmd := exec.CommandContext(p.ctx, p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	if err != nil {
		return 0, "", "", err
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String(), nil
}

// must runs the program, which must end with 0.
func (p *program) must(args ...string) (string, error) {
	code, out, errOut, err := p.command(args...)
	if err == nil && code != 0 {
		err = fmt.Errorf("%v: exit code %d: %s%s", args, code, out, errOut)
	}
	return out, err
}

// runArgs are the arguments of a run that delivers a parcel.
func runArgs(journal string, more ...string) []string {
	return append([]string{"run", "--json", "--config", "config.yaml", "--mcp", "none", "--journal", journal}, more...)
}

// runs leaves a finished run and a waiting run in a journal.
func (p *program) runs(journal string) (ids runIDs, err error) {
	if _, err := p.must(runArgs(journal, "--yes", "Deliver it to Rome.")...); err != nil {
		return ids, err
	}
	if ids.Done, err = p.latest(journal); err != nil {
		return ids, err
	}
	code, out, errOut, err := p.command(runArgs(journal, "--later", "Deliver it to Rome.")...)
	if err != nil || code != 3 {
		return ids, errors.Join(err, fmt.Errorf("a run that waits has exit code %d: %s%s", code, out, errOut))
	}
	ids.Waiting, err = p.waiting(journal)
	return ids, err
}

func (p *program) latest(journal string) (string, error) {
	out, err := p.must("receipts", "list", "--json", "--journal", journal)
	if err != nil {
		return "", err
	}
	var list []struct{ Run, ID string }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) == 0 {
		return "", fmt.Errorf("no run in %s: %w: %s", journal, err, out)
	}
	return list[0].Run + list[0].ID, nil
}

// waiting is the only run that waits in a journal.
func (p *program) waiting(journal string) (string, error) {
	out, err := p.must("runs", "list", "--json", "--journal", journal)
	if err != nil {
		return "", err
	}
	var list []struct{ Run string }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
		return "", fmt.Errorf("%d runs wait in %s: %w: %s", len(list), journal, err, out)
	}
	return list[0].Run, nil
}

// gateway makes keys, and has a gateway answer some requests.
func (p *program) gateway(f *facts, kind, journal, keys string) error {
	var made [3]string
	for i, args := range [][]string{{"--team", "research", "--limit", "tokens/day=1000000", "--limit", "requests/minute=600"}, {"--team", "sales", "--models", "plain"}, {"--team", "sales", "--expires", "2099-01-31"}} {
		out, err := p.must(append([]string{"keys", "create", "--keys", keys, "--name", keyNames[i]}, args...)...)
		if err != nil {
			return err
		}
		made[i] = strings.TrimSpace(out)
	}
	if _, err := p.must("keys", "revoke", "gone", "--keys", keys); err != nil {
		return err
	}
	if _, err := p.must("keys", "team", "research", "--limit", "tokens/month=50000000", "--keys", keys); err != nil {
		return err
	}
	name := kind + ".yaml"
	text, err := source.ReadFile("source/gateway.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.dir, name), text, 0o600); err != nil {
		return err
	}
	if err := p.settle(name, journal, keys); err != nil {
		return err
	}
	gateway, err := p.start("serve", "--addr", "127.0.0.1:0", "--config", name)
	if err != nil {
		return err
	}
	defer gateway.stop()
	if _, _, err := post(gateway.address+"/v1/chat/completions", made[0], `{"model":"plain","messages":[{"role":"user","content":"Hello"}]}`); err != nil {
		return err
	}
	stored, _, err := post(gateway.address+"/v1/responses", made[0], `{"model":"plain","input":"My name is Ann."}`)
	if err != nil {
		return err
	}
	began := time.Now()
	for of, key := range map[string]string{"approved": made[0], "expired": made[2]} {
		_, h, err := post(gateway.address+"/v1/chat/completions", key, askBody)
		if err != nil {
			return err
		}
		if of == "expired" {
			f.Expired[kind] = h.Get("Toolpost-Request-Id")
			continue
		}
		f.Approved[kind] = h.Get("Toolpost-Request-Id")
		if _, err := p.must("runs", "approve", f.Approved[kind], "--by", "ada", "--journal", journal); err != nil {
			return err
		}
	}
	id, _ := stored["id"].(string)
	f.Keys[kind] = keyFacts{Key: made[0], Other: made[2], Revoked: made[1], Response: id}
	time.Sleep(time.Until(began.Add(16 * time.Second))) // a test is always after the deadline
	return nil
}

// askBody is a request whose call waits for approval.
const askBody = `{"model":"ask","messages":[{"role":"user","content":"Deliver it."}]}`

func post(url, key, body string) (map[string]any, http.Header, error) {
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, resp.Header, fmt.Errorf("%s: %s: %s", url, resp.Status, text)
	}
	var answer map[string]any
	return answer, resp.Header, json.Unmarshal(text, &answer)
}

// server is a process that listens.
type server struct {
	cmd     *exec.Cmd
	address string
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

func (p *program) start(args ...string) (*server, error) {
	cmd := exec.CommandContext(p.ctx, p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env()
	log, err := os.CreateTemp(p.dir, "log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	for range 600 {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			return nil, err
		}
		if s.address = listening.FindString(string(text)); s.address != "" {
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	text, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("%v does not listen: %s", args, text)
}

// stop interrupts a server, which closes its databases.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait() // its exit code does not matter
}

// copyTo copies a file or a folder.
func copyTo(from, to string) error { return copyAs(from, to, 0o644) }

// copyAs copies files that get this mode.
func copyAs(from, to string, mode fs.FileMode) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, mode)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := copyAs(filepath.Join(from, f.Name()), filepath.Join(to, f.Name()), mode); err != nil {
			return err
		}
	}
	return nil
}

// settings are the lines of a dump that belong to its server, not to the tables.
var settings = regexp.MustCompile(`(?m)^(--.*|SET .*|SELECT pg_catalog\..*|\\.*|CREATE SCHEMA .*|COMMENT ON SCHEMA .*)\n`)

// dump writes a database as SQL text that names no schema.
func dump(ctx context.Context, postgres, file string) error {
	cmd := exec.CommandContext(ctx, "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--schema=public", postgres)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("pg_dump: %w: %s", err, errOut.String())
	}
	text = settings.ReplaceAll(text, nil)
	text = bytes.ReplaceAll(text, []byte("public."), nil)
	return os.WriteFile(file, regexp.MustCompile(`\n{2,}`).ReplaceAll(text, []byte("\n")), 0o644)
}
