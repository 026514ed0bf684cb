package main

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is the result as the client sees it.
type outcome struct {
	mu       sync.Mutex
	answers  int
	events   int
	took     []time.Duration // of answers
	failures map[string]int
}

func (o *outcome) add(events int, took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		if o.failures == nil {
			o.failures = map[string]int{}
		}
		o.failures[err.Error()]++
		return
	}
	o.answers++
	o.events += events
	o.took = append(o.took, took)
}

func (o *outcome) print() {
	failed := 0
	for text, n := range o.failures {
		failed += n
		fmt.Printf("%d times: %s\n", n, text)
	}
	fmt.Printf("%d whole answers, %d events, %d failures\n", o.answers, o.events, failed)
	if slices.Sort(o.took); len(o.took) > 0 {
		at := func(share float64) time.Duration {
			return o.took[min(int(share*float64(len(o.took))), len(o.took)-1)].Round(10 * time.Microsecond)
		}
		fmt.Printf("answers took p50 %v, p90 %v, p99 %v, at most %v\n", at(.5), at(.9), at(.99), at(1))
	}
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000, DisableCompression: true}}

// ask sends a request and reads its answer, which has to hold a text and to end well.
func ask(address, body, holds string) (events int, err error) {
	resp, err := client.Post(address+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("%.60s", err.Error())
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", resp.StatusCode)
	}
	held, done := false, false
	lines := bufio.NewReaderSize(resp.Body, 1<<10)
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "data: ") {
			events++
			held = held || strings.Contains(line, holds)
			done = strings.HasPrefix(line, "data: [DONE]")
		}
		if err != nil {
			break
		}
	}
	if !held || !done {
		return events, fmt.Errorf("the answer is not whole: it holds what it should: %v, it has ended: %v", held, done)
	}
	return events, nil
}

const (
	slowBody = `{"model":"slow","stream":true,"messages":[{"role":"user","content":"Talk."}]}`
	callBody = `{"model":"m","stream":true,"messages":[{"role":"user","content":"What is the weather in Rome?"}],"tools":[{"type":"function","function":{"name":"get_weather","description":"The weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"unit":{"enum":["celsius","fahrenheit"]}},"required":["city"]}}}]}`
)

// streams keeps streams open at once.
func (l load) streams(address string) (o *outcome) {
	o = new(outcome)
	var all sync.WaitGroup
	for range l.n {
		all.Go(func() {
			start := time.Now()
			events, err := ask(address, slowBody, `"stop"`)
			o.add(events, time.Since(start), err)
		})
		time.Sleep(time.Millisecond) // 1,000 connections a second
	}
	all.Wait()
	return o
}

// requests sends requests at a rate, whether or not the earlier ones are answered.
func (l load) requests(address string) (o *outcome) {
	o = new(outcome)
	var all sync.WaitGroup
	begun := time.Now()
	for sent := 0; time.Since(begun) < l.last; time.Sleep(time.Millisecond) {
		for due := int(time.Since(begun).Seconds() * float64(l.rate)); sent < due; sent++ {
			all.Go(func() {
				start := time.Now()
				events, err := ask(address, callBody, `"tool_calls"`)
				o.add(events, time.Since(start), err)
			})
		}
	}
	all.Wait()
	return o
}
