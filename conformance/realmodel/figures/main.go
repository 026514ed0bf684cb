// Command figures prints how well a real model of 135 million parameters that
// was never taught to call tools calls them: through package provider, beside
// the bare endpoint and a plain prompt. conformance/run figures sets it up.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/conformance/realmodel"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

func main() {
	url := flag.String("url", "", "a running server; empty starts one")
	python := flag.String("python", os.Getenv("TOOLPOST_REALMODEL_PYTHON"), "the Python that has the server and the model")
	root := flag.String("root", "..", "the root of the module")
	sets := flag.String("sets", "everyday,simple_python,multiple,irrelevance,two_tools", "which sets of questions")
	ways := flag.String("ways", "bare,prompt,auto,forced,none", "which ways to ask")
	offset := flag.Int("offset", 0, "the first question")
	step := flag.Int("step", 0, "ask every so manieth question; 0 means 4, and 1 for multiple")
	quarters := flag.String("quarters", "", "of each four questions only these, \"2,3\" for one: those that nobody tuned on; with it step is 1 unless it is set")
	threads := flag.Int("threads", 1, "of the server; on busy cores two wait for each other and are slower than one")
	limit := flag.Int("limit", 0, "ask at most so many of a set; 0 means all")
	format := flag.String("wire", "chat", "chat, responses or messages")
	whole := flag.Bool("whole", false, "ask for whole answers, not streams")
	cache := flag.String("cache", "", "a folder that remembers answers")
	verbose := flag.Bool("v", false, "print every wrong answer")
	flag.Parse()
	run := &run{
		ways: strings.Split(*ways, ","), offset: *offset, step: *step, limit: *limit, wire: *format, whole: *whole, cache: *cache, verbose: *verbose,
	}
	for _, q := range strings.FieldsFunc(*quarters, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(q)
		if err != nil || n < 0 || n > 3 {
			fmt.Fprintln(os.Stderr, "figures: a quarter is 0, 1, 2 or 3, not", q)
			os.Exit(2)
		}
		run.quarters = append(run.quarters, n)
	}
	if err := run.do(*url, *python, *root, strings.Split(*sets, ","), *threads); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

type run struct {
	ways                []string
	offset, step, limit int
	quarters            []int
	wire, cache         string
	whole, verbose      bool
	url                 string
}

func (r *run) do(url, python, root string, sets []string, threads int) error {
	if url == "" {
		var stop func()
		var err error
		if url, stop, err = realmodel.Serve(python, filepath.Join(root, "conformance", "realmodel"), threads); err != nil {
			return err
		}
		defer stop()
	}
	r.url = url
	dir, err := realmodel.Corpus(root)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if set == "everyday" || set == "fresh" {
			for _, way := range r.ways {
				if err := r.everyday(set, way); err != nil {
					return err
				}
			}
			continue
		}
		if set == "two_tools" {
			if err := r.two(); err != nil {
				return err
			}
			continue
		}
		all, err := realmodel.Questions(dir, set)
		if err != nil {
			return err
		}
		chosen := r.choose(set, all)
		for _, way := range r.ways {
			if err := r.ask(set, way, chosen); err != nil {
				return err
			}
		}
	}
	return nil
}

// choose returns the questions of a set that are asked.
func (r *run) choose(set string, all []realmodel.Question) []realmodel.Question {
	step := r.step
	switch {
	case step > 0:
	case set == "multiple" || len(r.quarters) > 0:
		step = 1
	default:
		step = 4
	}
	var chosen []realmodel.Question
	for i := r.offset; i < len(all) && (r.limit == 0 || len(chosen) < r.limit); i += step {
		if len(r.quarters) == 0 || slices.Contains(r.quarters, i%4) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen
}

// client returns the client of a way to ask.
func (r *run) client(way string) *provider.Client {
	c := &provider.Client{HTTP: &http.Client{Transport: remember{dir: r.cache}}, Whole: r.whole, Vendors: map[string]provider.Vendor{"llamacpp": {Wires: []string{r.wire}}}}
	switch way {
	case "bare":
		c.Route = provider.Native
	case "prompt":
		c.Route = provider.Prompted
	case "off", "three":
		c.Gate = emulate.GateOff
	}
	return c
}

// ask asks the questions in one way and prints the figures.
func (r *run) ask(set, way string, questions []realmodel.Question) error {
	model, err := r.client(way).Open("llamacpp+" + r.url + "/v1#SmolLM2-135M-Instruct")
	if err != nil {
		return err
	}
	zero := 0.0
	var right, valid, called, failed int
	start := time.Now()
	for _, q := range questions {
		req := &llm.Request{Messages: q.Messages, Tools: q.Tools, Temperature: &zero, MaxTokens: 400}
		switch way {
		case "forced":
			req.Choice.Mode = llm.MustCall
		case "none":
			req.Choice.Mode = llm.MustNotCall
			req.MaxTokens = 40
		case "bare", "prompt":
			req.MaxTokens = 100
		}
		resp, err := generate(model, req, way == "auto")
		if err != nil && llm.KindOf(err) != llm.BrokenPromise {
			failed++
			fmt.Println(q.ID, err)
			continue
		}
		calls := resp.Message.Calls()
		good := q.Right(calls)
		if good {
			right++
		}
		if len(calls) > 0 {
			called++
			if q.Valid(calls) {
				valid++
			} else if r.verbose {
				fmt.Println("INVALID", q.ID, show(calls))
			}
		}
		if r.verbose && !good {
			fmt.Printf("%s %s\n  got  %s %q %v\n  gold %v\n", q.ID, q.Messages[len(q.Messages)-1].Text(), show(calls), resp.Message.Text(), resp.Invalid, q.Gold)
			for _, w := range resp.Warnings {
				if w.Feature == "gate" {
					fmt.Println("  gate", w.Detail)
				}
			}
		}
	}
	n := float64(max(len(questions), 1))
	fmt.Printf("%-14s %-7s %4d questions: right %5.1f %%, called %5.1f %%, valid %5.1f %% of the calls; %d failed; %.0f s\n", set, way, len(questions),
		100*float64(right)/n, 100*float64(called)/n, 100*float64(valid)/float64(max(called, 1)), failed, time.Since(start).Seconds())
	return nil
}

// everyday asks everyday requests over the built-in tools.
func (r *run) everyday(set, way string) error {
	requests := realmodel.Everyday()
	if set == "fresh" {
		requests = realmodel.Fresh()
	}
	model, err := r.client(way).Open("llamacpp+" + r.url + "/v1#SmolLM2-135M-Instruct")
	if err != nil {
		return err
	}
	tools, err := realmodel.Builtins(os.TempDir())
	if err != nil {
		return err
	}
	zero := 0.0
	start := time.Now()
	var asked, named, right [2]int
	for i, q := range requests {
		if r.limit > 0 && i >= r.limit {
			break
		}
		offered := tools
		if way == "three" { // the model chooses from those that fit best
			offered = best(tools, q.Ask)
		}
		resp, err := generate(model, &llm.Request{Messages: []llm.Message{llm.User(q.Ask)}, Tools: offered, Temperature: &zero, MaxTokens: 400}, way == "auto")
		if err != nil && llm.KindOf(err) != llm.BrokenPromise {
			fmt.Println(q.Ask, err)
		}
		calls := resp.Message.Calls()
		asked[i%2]++
		if q.RightTool(calls) {
			named[i%2]++
		}
		if q.Right(calls) {
			right[i%2]++
		} else if r.verbose && i%2 == 0 {
			fmt.Printf("%s\n  got  %s %q\n", q.Ask, show(calls), resp.Message.Text())
		}
	}
	for half, name := range []string{"tuned", "held back"} {
		if set == "fresh" && half == 0 {
			name = "even"
		} else if set == "fresh" {
			name = "odd"
		}
		n := float64(max(asked[half], 1))
		fmt.Printf("%-14s %-7s %4d requests, %s: right tool %.1f %%, right call %.1f %%; %.0f s\n", set, way, asked[half], name, 100*float64(named[half])/n, 100*float64(right[half])/n, time.Since(start).Seconds())
	}
	return nil
}

// best returns the three tools that fit a request best.
func best(tools []llm.ToolDef, text string) []llm.ToolDef {
	var kept []llm.ToolDef
	chosen, _ := tool.NewRanker(tools).Select(text, tool.Selection{Tools: 3})
	for _, at := range chosen {
		kept = append(kept, tools[at])
	}
	return kept
}

// two asks our own questions that need two tools.
func (r *run) two() error {
	model, err := r.client("auto").Open("llamacpp+" + r.url + "/v1#any")
	if err != nil {
		return err
	}
	names, valid, calls := 0, 0, 0
	zero := 0.0
	questions := realmodel.TwoTools()
	for _, q := range questions {
		resp, err := llm.Generate(context.Background(), model, &llm.Request{Messages: q.Messages, Tools: q.Tools, Temperature: &zero, MaxTokens: 400})
		if err != nil {
			return err
		}
		got := resp.Message.Calls()
		calls += len(got)
		for _, c := range got {
			if q.Valid([]llm.Call{c}) {
				valid++
			}
		}
		if realmodel.SameNames(got, q.Want) {
			names++
		}
		if r.verbose {
			fmt.Printf("%s\n  got  %s\n", q.ID, show(got))
		}
	}
	fmt.Printf("%-14s %-7s %4d questions: both names right %.1f %%, valid %.1f %% of %d calls\n", "two_tools", "auto", len(questions),
		100*float64(names)/float64(len(questions)), 100*float64(valid)/float64(max(calls, 1)), calls)
	return nil
}

// enough is how much text of an answer is read where text means that no call
// will come: reading on would only cost time.
const enough = 40

// generate asks, and stops listening to an answer that has become text if that
// decides it.
func generate(model llm.Model, req *llm.Request, decided bool) (*llm.Response, error) {
	var b llm.Builder
	for ev, err := range model.Stream(context.Background(), req) {
		if err != nil {
			return b.Response(), err
		}
		b.Add(ev)
		if decided && len(b.Response().Message.Text()) > enough {
			break
		}
	}
	return b.Response(), nil
}

func show(calls []llm.Call) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "%s%s ", c.Name, c.Args)
	}
	return b.String()
}

// remember keeps answers in a folder, if there is one. At temperature 0 they
// are always the same.
type remember struct{ dir string }

func (r remember) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.dir == "" || req.Body == nil {
		return realmodel.Client.Transport.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"grammar"`)) { // text, which is not read to its end
		return realmodel.Client.Transport.RoundTrip(req)
	}
	name := filepath.Join(r.dir, fmt.Sprintf("%x", sha256.Sum256(append([]byte(req.URL.Path+"\n"), body...))))
	if known, err := os.ReadFile(name); err == nil {
		kind, rest, _ := bytes.Cut(known, []byte("\n"))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {string(kind)}}, Body: io.NopCloser(bytes.NewReader(rest)), Request: req}, nil
	}
	resp, err := realmodel.Client.Transport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, os.WriteFile(name, append([]byte(resp.Header.Get("Content-Type")+"\n"), answer...), 0o600)
}
