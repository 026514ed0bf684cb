// Command load puts the gateway under load, with client, gateway and upstream as three processes:
//
//	go run ./internal/load streams [-n 9000] [-for 60s] [-every 5s]
//	go run ./internal/load requests [-rate 1000] [-for 60s]
//
// The first keeps that many streams open, each with an event now and then. The second sends that many requests a
// second, whether or not the earlier ones are answered; each is a stream of 21 events with one call, which the gateway
// reads and checks. Command load prints the number of failures and the resources that the gateway used, and fails if a
// request failed.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// load describes the load on the gateway.
type load struct {
	kind  string
	n     int           // streams
	rate  int           // requests a second
	last  time.Duration // duration
	every time.Duration // an event in each stream
}

func main() {
	if os.Getenv(upstreamVar) != "" {
		serveUpstream()
		return
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "streams" && args[0] != "requests" {
		return errors.New("say streams or requests; see the comment of the package")
	}
	l := load{kind: args[0]}
	flags := flag.NewFlagSet("load "+l.kind, flag.ContinueOnError)
	flags.IntVar(&l.n, "n", 9000, "streams that are open at once")
	flags.IntVar(&l.rate, "rate", 1000, "requests a second")
	flags.DurationVar(&l.last, "for", time.Minute, "how long")
	flags.DurationVar(&l.every, "every", 5*time.Second, "how long a stream is silent between two events")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "toolpost-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return l.run(dir)
}

// run starts upstream and gateway, asks, and reports.
func (l load) run(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	upstream, err := start(dir, self, []string{upstreamVar + "=1", "LOAD_EVERY=" + l.every.String(), "LOAD_FOR=" + l.last.String()})
	if err != nil {
		return err
	}
	defer upstream.stop()
	toolpost := filepath.Join(dir, "gateway.exe") // its settings would be in a folder called toolpost
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", toolpost, "./cmd/toolpost").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	config := filepath.Join(dir, "gateway.yaml")
	text := fmt.Sprintf("gateway:\n  routes:\n    - model: \"*\"\n      to: [{model: \"vllm+%s/v1#*\", tools: native}]\n", upstream.address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	gateway, err := start(dir, toolpost, nil, "serve", "--addr", "127.0.0.1:0", "--config", config)
	if err != nil {
		return err
	}
	defer gateway.stop()
	fmt.Printf("%d processors, Go %s\n", runtime.NumCPU(), runtime.Version())
	var o *outcome
	if l.kind == "streams" {
		o = l.streams(gateway.address)
	} else {
		o = l.requests(gateway.address)
	}
	o.print()
	fmt.Printf("gateway: %s\n", gateway.used())
	if len(o.failures) > 0 {
		return errors.New("there were failures")
	}
	return nil
}

// process is a server that was started.
type process struct {
	*exec.Cmd
	address string
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// start starts a server that prints its address, in an environment without keys.
func start(home, program string, env []string, args ...string) (*process, error) {
	p := &process{Cmd: exec.Command(program, args...)}
	p.Env = append([]string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
	log, err := os.Create(filepath.Join(home, filepath.Base(program)+".log"))
	if err != nil {
		return nil, err
	}
	p.Stderr = log
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if p.address = address.FindString(lines.Text()); p.address != "" {
			return p, nil
		}
	}
	p.stop()
	said, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("%s does not say where it listens: %s", program, said)
}

func (p *process) stop() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// used reports the resources that the process used so far, if the system provides them.
func (p *process) used() string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		return "what it used is not known on this system"
	}
	var memory string
	for line := range strings.Lines(string(status)) {
		if peak, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			memory = strings.TrimSpace(peak)
		}
	}
	return fmt.Sprintf("%s of memory at most, %v of processor time", memory, processorTime(p.Process.Pid))
}

// processorTime is the time that a process used, in user and system mode.
func processorTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, fields, _ := strings.Cut(string(text), ") ")
	var user, system int64
	list := strings.Fields(fields)
	if len(list) < 13 {
		return 0
	}
	fmt.Sscan(list[11]+" "+list[12], &user, &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}
