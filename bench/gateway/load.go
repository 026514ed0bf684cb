package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// result is what a measurement gave. Times are in milliseconds.
type result struct {
	rate, p50, p90, p99, cpu float64
	errors                   int
}

const (
	schema       = `{"type":"object","properties":{"city":{"type":"string","description":"The city."},"days":{"type":"integer"}},"required":["city"]}`
	chatBody     = `{"model":"bench","stream":%t,"messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"What is the weather in Rome?"}],"tools":[{"type":"function","function":{"name":"get_weather","description":"Current weather in a city","parameters":` + schema + `}}]}`
	messagesBody = `{"model":"bench","stream":%t,"max_tokens":1024,"system":"You are a helpful assistant.","messages":[{"role":"user","content":"What is the weather in Rome?"}],"tools":[{"name":"get_weather","description":"Current weather in a city","input_schema":` + schema + `}]}`
)

var client = &http.Client{Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true}}

// load asks as many at once as c says.
func load(t target, stream bool, c string, each time.Duration) (result, error) {
	n, err := strconv.Atoi(c)
	if err != nil {
		return result{}, err
	}
	place, body, end := t.url+"/v1/chat/completions", fmt.Sprintf(chatBody, stream), `"tool_calls"`
	if stream {
		end = "[DONE]"
	}
	if t.messages {
		place, body, end = t.url+"/v1/messages", fmt.Sprintf(messagesBody, stream), `"tool_use"`
		if stream {
			end = "message_stop"
		}
	}
	for range min(n, 8) { // connections, and what is made once
		if _, err := ask(place, body, end); err != nil {
			return result{}, err
		}
	}
	before, err := cpu(t.pid)
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
				ms, err := ask(place, body, end)
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
	after, err := cpu(t.pid)
	if err != nil || len(took) == 0 {
		return r, fmt.Errorf("%d answers, %d errors: %w", len(took), r.errors, err)
	}
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(q*float64(len(took)-1))] }
	r.rate, r.p50, r.p90, r.p99 = float64(len(took))/wall.Seconds(), at(0.5), at(0.9), at(0.99)
	r.cpu = float64(after-before) * 1000 / ticks / float64(len(took))
	return r, nil
}

// ask asks once and returns how long the whole answer took.
func ask(place, body, end string) (float64, error) {
	begin := time.Now()
	resp, err := client.Post(place, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(b, []byte(end)) {
		return 0, fmt.Errorf("status %d: %.200s", resp.StatusCode, b)
	}
	return float64(time.Since(begin).Microseconds()) / 1000, nil
}

// ticks are the parts of a second that Linux counts CPU time in.
const ticks = 100

// cpu is the CPU time that a process and its threads have used.
func cpu(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return user + system, err
}
