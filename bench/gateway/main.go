// Command gateway measures what a gateway adds to a request: toolpost serve beside no gateway, a
// plain Go reverse proxy and a Go proxy that reads and writes every event anew, in one run.
//
//	go build -o toolpost ../../cmd/toolpost && go run . -toolpost ./toolpost
//
// Upstream, proxies and gateway are processes of their own. Every answer has one tool call, in one
// piece or as 21 events. Rounds go around, so that a busy machine disturbs all alike; compare by the
// ratios. Another gateway that speaks Chat Completions is measured with -peer NAME=URL,PID.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
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
		peers    = peerList{}
	)
	flag.Var(&peers, "peer", "another gateway: `NAME=URL,PID`")
	flag.Parse()
	if *role != "" {
		log.Fatal(serve(*role, *to))
	}
	if err := measure(*toolpost, *each, *rounds, strings.Split(*levels, ","), peers); err != nil {
		log.Fatal(err)
	}
}

// target is what is measured.
type target struct {
	name, url string
	pid       int
	messages  bool // the client speaks Anthropic's format
}

// cell is one measurement.
type cell struct {
	target, mode, c string
}

func measure(toolpost string, each time.Duration, rounds int, levels []string, peers peerList) error {
	servers, targets, err := startAll(toolpost)
	defer servers.stop()
	if err != nil {
		return err
	}
	targets = append(targets, peers...)
	results := map[cell][]result{}
	for range rounds {
		for _, mode := range []string{"json", "stream"} {
			for _, c := range levels {
				for _, t := range targets {
					r, err := load(t, mode == "stream", c, each)
					if err != nil {
						return fmt.Errorf("%s, %s, c=%s: %w", t.name, mode, c, err)
					}
					key := cell{t.name, mode, c}
					results[key] = append(results[key], r)
				}
			}
		}
	}
	print(targets, levels, results)
	return nil
}

// print writes a table. Ratios are to the plain proxy: of the CPU time of a request, and of what is
// added to the median over asking the upstream itself.
func print(targets []target, levels []string, results map[cell][]result) {
	fmt.Println("| mode | c | gateway | requests/s | p50 ms (added) | p90 | p99 | CPU ms/request | CPU ratio | added p50 ratio | errors |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|")
	for _, mode := range []string{"json", "stream"} {
		for _, c := range levels {
			direct, plain := median(results[cell{"direct", mode, c}]), median(results[cell{"plain proxy", mode, c}])
			for _, t := range targets {
				r := median(results[cell{t.name, mode, c}])
				cpu, added := "", ""
				if t.name != "direct" {
					cpu = fmt.Sprintf("%.2f", r.cpu/plain.cpu)
					added = fmt.Sprintf("%.2f", (r.p50-direct.p50)/(plain.p50-direct.p50))
				}
				fmt.Printf("| %s | %s | %s | %.0f | %.2f (%+.2f) | %.2f | %.2f | %.3f | %s | %s | %d |\n",
					mode, c, t.name, r.rate, r.p50, r.p50-direct.p50, r.p90, r.p99, r.cpu, cpu, added, r.errors)
			}
		}
	}
}

// median is the measurement whose CPU time per request is in the middle, with the sum of all errors.
func median(list []result) result {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b result) int { return cmp.Compare(a.cpu+a.p50, b.cpu+b.p50) })
	r := sorted[len(sorted)/2]
	r.errors = 0
	for _, one := range list {
		r.errors += one.errors
	}
	return r
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
	var t target
	name, rest, _ := strings.Cut(text, "=")
	url, pid, ok := strings.Cut(rest, ",")
	if _, err := fmt.Sscan(pid, &t.pid); !ok || err != nil {
		return fmt.Errorf("%q is not NAME=URL,PID", text)
	}
	t.name, t.url = name, url
	*p = append(*p, t)
	return nil
}

var self, _ = os.Executable()
