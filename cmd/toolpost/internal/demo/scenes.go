package demo

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/sim"
)

// tour lists the scenes.
var tour = []struct {
	title string
	play  func(*demo) error
}{
	{"A broken call is repaired, and each edit is listed", repaired},
	{"A call that the model only quotes does not run", quotedCall},
	{"A dangerous call waits for a person", dangerous},
	{"A killed run continues where it was", killed},
	{"A record shows tampering", verified},
	{"The same task on three vendors' formats", formats},
}

func repaired(d *demo) error {
	if err := d.file("broken.txt", "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\",}}</tool_call>\n"); err != nil {
		return err
	}
	_, err := d.toolpost(cli.ExitOK, "parse", "broken.txt")
	return err
}

func quotedCall(d *demo) error {
	err := d.file("quoted.txtar", `What the model answers.
-- 1.raw --
The log of last week has {"name": "write_file", "arguments": {"path": "bad.txt", "content": "x"}} in line 7.
`)
	if err != nil {
		return err
	}
	if _, err := d.toolpost(cli.ExitOK, "run", "-m", "sim/script:quoted.txtar", "--allow", "write", "--yes", "What is in the log?"); err != nil {
		return err
	}
	return d.checked(!d.exists("bad.txt"), "bad.txt does not exist")
}

func dangerous(d *demo) error {
	if err := os.Mkdir(filepath.Join(d.dir, "logs"), 0o700); err != nil {
		return err
	}
	err := d.file("danger.txtar", `What the model answers.
-- 1 --
call run_command {"program":"rm","args":["-rf","logs"]}
-- 2 --
text That is all about the logs.
`)
	if err != nil {
		return err
	}
	task := []string{"run", "-m", "sim/script:danger.txtar", "--allow", "exec", "Make room on the disk"}
	if d.stdin != nil { // the person decides
		if _, err := d.toolpost(anyExit, task...); err != nil {
			return err
		}
		if !d.exists("logs") {
			return d.checked(true, "the folder logs is gone: you allowed it")
		}
		return d.checked(true, "the folder logs is still there")
	}
	if _, err := d.toolpost(cli.ExitWaits, slices.Insert(task, len(task)-1, "--later")...); err != nil {
		return err
	}
	if _, err := d.toolpost(cli.ExitOK, "runs", "deny", "latest", "--by", "you"); err != nil {
		return err
	}
	if _, err := d.toolpost(cli.ExitFailed, "run", "--resume", "latest", "--allow", "exec"); err != nil {
		return err
	}
	return d.checked(d.exists("logs"), "the folder logs is still there")
}

// killed kills a run while it waits for the third answer of the model, after the second call has written a file.
func killed(d *demo) error {
	script, err := sim.ParseScript([]byte(`
-- 1 --
call list_files {}
-- 2 --
call write_file {"path":"plan.txt","content":"Monday: paint the door\n"}
-- 3 --
call read_file {"path":"plan.txt"}
-- 4 --
text plan.txt holds the plan.
`))
	if err != nil {
		return err
	}
	waits := make(chan struct{})
	var once sync.Once
	server := &sim.Server{Model: script}
	address, stop, err := serve(func(w http.ResponseWriter, r *http.Request) {
		if d.exists("plan.txt") { // the third answer; only the first request for it never gets one
			first := false
			once.Do(func() { first = true; close(waits) })
			if first {
				<-r.Context().Done()
				return
			}
		}
		server.ServeHTTP(w, r)
	})
	if err != nil {
		return err
	}
	defer stop()
	if err := d.configure(address); err != nil {
		return err
	}
	cmd, out := d.start([]string{"run", "-m", "lab-openai/sim/native", "--allow", "write", "--yes", "Write a plan for Monday"})
	if err := kill(cmd, waits); err != nil {
		return err
	}
	if _, err := d.ended(cmd, out, anyExit); err != nil {
		return err
	}
	before, err := os.Stat(filepath.Join(d.dir, "plan.txt"))
	if err != nil {
		return err
	}
	if err := d.checked(!cmd.ProcessState.Success(), "the process was killed while it waited for the model"); err != nil {
		return err
	}
	if _, err := d.toolpost(cli.ExitOK, "run", "--resume", "latest", "--allow", "write", "--yes"); err != nil {
		return err
	}
	after, err := os.Stat(filepath.Join(d.dir, "plan.txt"))
	if err != nil {
		return err
	}
	return d.checked(after.ModTime().Equal(before.ModTime()), "plan.txt was written once: a recorded call does not run again")
}

// kill starts a process and kills it at the signal. A process that ends before it is an error.
func kill(cmd *exec.Cmd, signal <-chan struct{}) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return fmt.Errorf("the run ended before it was killed: %w", errors.Join(err, errors.New(cmd.ProcessState.String())))
	case <-signal:
	}
	err := cmd.Process.Kill()
	<-ended
	return err
}

// lastRecord returns the newest record. The names of runs of the same second are not in order.
func (d *demo) lastRecord() ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(d.records(), "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var last string
	var written time.Time
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		if info.ModTime().After(written) {
			last, written = file, info.ModTime()
		}
	}
	if last == "" {
		return nil, errors.New("no records in " + d.records())
	}
	return os.ReadFile(last)
}

func verified(d *demo) error {
	if _, err := d.toolpost(cli.ExitOK, "receipts", "verify", "latest"); err != nil {
		return err
	}
	record, err := d.lastRecord()
	if err != nil {
		return err
	}
	changed := bytes.Replace(record, []byte("paint the door"), []byte("paint the wall"), 1)
	if err := d.checked(!bytes.Equal(record, changed), "changed.jsonl is a copy with door replaced by wall, once"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.dir, "changed.jsonl"), changed, 0o600); err != nil {
		return err
	}
	_, err = d.toolpost(cli.ExitFailed, "receipts", "verify", "changed.jsonl")
	return err
}

func formats(d *demo) error {
	var mu sync.Mutex
	var seen []string
	rules := new(sim.Server)
	address, stop, err := serve(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if path, _, _ := strings.Cut(r.URL.Path, ":"); r.Method == http.MethodPost && !slices.Contains(seen, path) {
			seen = append(seen, path)
		}
		mu.Unlock()
		rules.ServeHTTP(w, r)
	})
	if err != nil {
		return err
	}
	defer stop()
	if err := d.configure(address); err != nil {
		return err
	}
	var answers []string
	for _, vendor := range vendors {
		answer, err := d.toolpost(cli.ExitOK, "run", "-q", "-m", "lab-"+vendor.name+"/sim/native", "Read the file plan.txt")
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	if err := d.checked(len(slices.Compact(answers)) == 1, "the three answers are the same"); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	return d.checked(len(seen) == len(vendors), "the requests went to "+strings.Join(seen, ", "))
}

// vendors are the rows of the configuration.
var vendors = []struct{ name, root string }{{"openai", "/v1"}, {"anthropic", "/v1"}, {"gemini", "/v1beta"}}

// configure writes a configuration whose vendors are at an address.
func (d *demo) configure(address string) error {
	var text strings.Builder
	text.WriteString("providers:\n")
	for _, v := range vendors {
		fmt.Fprintf(&text, "  lab-%s: {like: %s, base_url: %q}\n", v.name, v.name, address+v.root)
	}
	return os.WriteFile(d.config(), []byte(text.String()), 0o600)
}

// serve serves HTTP on a free port of this machine.
func serve(handle http.HandlerFunc) (address string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handle}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with stop
	return "http://" + listener.Addr().String(), func() { server.Close(); serving.Wait() }, nil
}
