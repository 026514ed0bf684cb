package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// result is what a measurement gave. Times are in milliseconds.
type result struct {
	rate, p50, p90, p99, cpu, memory float64
	errors                           int
}

const (
	schema       = `{"type":"object","properties":{"city":{"type":"string","description":"The city."},"days":{"type":"integer"}},"required":["city"]}`
	chatBody     = `{"model":"%s","stream":%t,"messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"What is the weather in Rome?"}],"tools":[{"type":"function","function":{"name":"get_weather","description":"Current weather in a city","parameters":` + schema + `}}]}`
	messagesBody = `{"model":"%s","stream":%t,"max_tokens":1024,"system":"You are a helpful assistant.","messages":[{"role":"user","content":"What is the weather in Rome?"}],"tools":[{"name":"get_weather","description":"Current weather in a city","input_schema":` + schema + `}]}`
)

var client = &http.Client{Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true}, Timeout: 2 * time.Minute}

// question is what a target is asked, and what a whole answer has in it: the tool, and its end.
type question struct {
	url, body string
	headers   []string
	want      [][]byte
}

func (t target) question(mode string) question {
	stream := mode != "json"
	path, body, end := "/v1/chat/completions", chatBody, `"tool_calls"`
	if stream {
		end = "[DONE]"
	}
	if t.messages {
		path, body, end = "/v1/messages", messagesBody, `"tool_use"`
		if stream {
			end = "message_stop"
		}
	}
	if mode == "large" {
		body = largeBody(t.messages)
	}
	model := t.model
	if model == "" {
		model = "bench"
	}
	return question{t.url + path, fmt.Sprintf(body, model, stream), t.headers, [][]byte{[]byte("get_weather"), []byte(end)}}
}

// load asks as many at once as c says.
func load(t target, mode, c string, each time.Duration) (result, error) {
	n, err := strconv.Atoi(c)
	if err != nil {
		return result{}, err
	}
	q := t.question(mode)
	for range min(n, 8) { // connections, and what is made once
		if _, err := ask(q); err != nil {
			return result{}, err
		}
	}
	before, err := use(t.pid)
	if err != nil {
		return result{}, err
	}
	var mu sync.Mutex
	var took []float64
	var r result
	begin := time.Now()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			var own []float64
			failed := 0
			for time.Since(begin) < each {
				ms, err := ask(q)
				if err != nil {
					failed++
					continue
				}
				own = append(own, ms)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			r.errors += failed
		})
	}
	all.Wait()
	wall := time.Since(begin)
	after, err := use(t.pid)
	if err != nil {
		return r, err
	}
	if len(took) == 0 {
		return r, fmt.Errorf("no answer, %d errors", r.errors)
	}
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(q*float64(len(took)-1))] }
	r.rate, r.p50, r.p90, r.p99 = float64(len(took))/wall.Seconds(), at(0.5), at(0.9), at(0.99)
	r.cpu = float64(after.ticks-before.ticks) * 1000 / ticks / float64(len(took))
	r.memory = float64(after.pages) * float64(os.Getpagesize()) / (1 << 20)
	return r, nil
}

// ask asks once and returns how long the whole answer took. One that is not whole is an error.
func ask(q question) (float64, error) {
	begin := time.Now()
	req, err := http.NewRequest(http.MethodPost, q.url, strings.NewReader(q.body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	for _, header := range q.headers {
		name, value, _ := strings.Cut(header, ":")
		req.Header.Set(name, strings.TrimSpace(value))
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	for _, want := range q.want {
		if resp.StatusCode != http.StatusOK || !bytes.Contains(b, want) {
			return 0, fmt.Errorf("status %d: %.200s", resp.StatusCode, b)
		}
	}
	return float64(time.Since(begin).Microseconds()) / 1000, nil
}

// ticks are the parts of a second that Linux counts CPU time in.
const ticks = 100

// used is the CPU time that processes have used, and the pages of memory that they hold.
type used struct{ ticks, pages int64 }

// use adds up a process and all that it started, those that have ended too.
func use(root int) (used, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return used{}, err
	}
	own, children := map[int]used{}, map[int][]int{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil { // it has ended
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return used{}, err
		}
		f := numbers(string(b[bytes.LastIndexByte(b, ')')+1:]))
		children[f[1]] = append(children[f[1]], pid)
		own[pid] = used{int64(f[11] + f[12] + f[13] + f[14]), int64(f[21])}
	}
	if _, ok := own[root]; !ok {
		return used{}, fmt.Errorf("process %d has ended", root)
	}
	var sum used
	for list := []int{root}; len(list) > 0; list = list[1:] {
		sum.ticks += own[list[0]].ticks
		sum.pages += own[list[0]].pages
		list = append(list, children[list[0]]...)
	}
	return sum, nil
}

// numbers reads the fields of a line of /proc; those that are no number are 0.
func numbers(line string) []int {
	fields := strings.Fields(line)
	list := make([]int, max(len(fields), 22))
	for i, field := range fields {
		list[i], _ = strconv.Atoi(field)
	}
	return list
}
