// Command gateway measures what a gateway adds to a request: toolpost serve beside no gateway, a
// plain Go reverse proxy, a Go proxy that reads and writes every event anew, and gateways of others,
// in one run.
//
//	go build -o toolpost ../../cmd/toolpost && go run . -toolpost ./toolpost -peers ~/.cache/toolpost-peers
//
// Upstream, proxies and gateways are processes of their own. Every answer has one tool call, in one
// piece or as 21 events, also to a request of 100 kB. Rounds go around, so that a busy machine disturbs all alike; compare by the
// ratios. Another gateway that speaks Chat Completions is measured with -peer NAME=URL,PID.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	var (
		role     = flag.String("role", "", "be `upstream`, plain or reencode, and nothing else")
		to       = flag.String("to", "", "`URL` of the upstream of a role")
		toolpost = flag.String("toolpost", "toolpost", "`FILE` of the command")
		each     = flag.Duration("each", 2*time.Second, "how long each measurement takes")
		rounds   = flag.Int("rounds", 3, "how often each is measured; the median counts")
		levels   = flag.String("c", "1,32,128", "requests at once")
		dir      = flag.String("peers", "", "measure other gateways too, and install them below this `FOLDER`")
		peers    = peerList{}
	)
	flag.Var(&peers, "peer", "another gateway that runs already: `NAME=URL,PID`")
	flag.Func("header", "a `NAME: VALUE` that requests to the -peer before it have", peers.header)
	flag.Parse()
	if *role != "" {
		log.Fatal(serve(*role, *to))
	}
	if err := measure(*toolpost, *dir, *each, *rounds, strings.Split(*levels, ","), peers); err != nil {
		log.Fatal(err)
	}
}

// target is what is measured.
type target struct {
	name, url, model string
	pid              int
	messages         bool // the client speaks Anthropic's format
	headers          []string
	other            bool // a gateway of others: where it fails, the run goes on without it
}

// cell is one measurement.
type cell struct {
	target, mode, c string
}

// modes are an answer in one piece, one as events, and one as events to a request as large as those of coding agents.
var modes = []string{"json", "stream", "large"}

func measure(toolpost, dir string, each time.Duration, rounds int, levels []string, peers peerList) error {
	p := &processes{}
	defer p.stop()
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stopped
		p.stop()
		os.Exit(1)
	}()
	targets, err := p.startAll(toolpost)
	if err != nil {
		return err
	}
	if dir != "" {
		targets = append(targets, p.startPeers(dir, targets[0].url)...)
	}
	targets = append(targets, peers...)
	fmt.Println(machine())
	t := table{targets: targets, levels: levels, rounds: rounds, results: map[cell][]result{}}
	for range rounds {
		if err := t.round(each); err != nil {
			return err
		}
	}
	fmt.Println(machine())
	t.print()
	return nil
}

// round measures every cell once.
func (t table) round(each time.Duration) error {
	for _, mode := range modes {
		for _, c := range t.levels {
			for _, one := range t.targets {
				r, err := load(one, mode, c, each)
				if err != nil && !one.other {
					return fmt.Errorf("%s, %s, c=%s: %w", one.name, mode, c, err)
				}
				if err != nil {
					fmt.Printf("%s, %s, c=%s: %v\n", one.name, mode, c, err)
				}
				key := cell{one.name, mode, c}
				t.results[key] = append(t.results[key], r)
			}
		}
	}
	return nil
}

// machine says when and where, and how busy it is.
func machine() string {
	busy, _ := os.ReadFile("/proc/loadavg")
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(info), "model name")
	model, _, _ = strings.Cut(strings.TrimLeft(model, "\t :"), "\n")
	return fmt.Sprintf("%s, %d × %s, load %.14s", time.Now().UTC().Format("2006-01-02 15:04"), strings.Count(string(info), "processor\t"), model, busy)
}

// peerList are gateways that somebody else started.
type peerList []target

// String returns their names.
func (p *peerList) String() string {
	var names []string
	for _, t := range *p {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}

// Set adds one.
func (p *peerList) Set(text string) error {
	t := target{other: true}
	name, rest, _ := strings.Cut(text, "=")
	url, pid, ok := strings.Cut(rest, ",")
	if _, err := fmt.Sscan(pid, &t.pid); !ok || err != nil {
		return fmt.Errorf("%q is not NAME=URL,PID", text)
	}
	t.name, t.url = name, url
	*p = append(*p, t)
	return nil
}

// header adds a header to the one that was added last.
func (p *peerList) header(text string) error {
	if len(*p) == 0 || !strings.Contains(text, ":") {
		return fmt.Errorf("%q is not NAME: VALUE after a -peer", text)
	}
	last := &(*p)[len(*p)-1]
	last.headers = append(last.headers, text)
	return nil
}

var self, _ = os.Executable()
