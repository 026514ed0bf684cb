package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// upstreams are the configurations in conformance/gateway.
var upstreams = []string{"same", "other", "text", "none"}

// formatGroups are the formats that share a gateway. A gateway gets one request at a time, and
// some of them wait for a retry, so several gateways take less time than one.
var formatGroups = [][]string{{"chat", "messages"}, {"responses", "ollama"}, {"gemini", "converse"}}

func ofFormats(cells []*cell, formats []string) []*cell {
	var out []*cell
	for _, c := range cells {
		if slices.Contains(formats, c.Format) {
			out = append(out, c)
		}
	}
	return out
}

// compareGateway sends the cells through a gateway of each side, over each kind of upstream.
func compareGateway(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	cells, err := o.cells()
	if err != nil {
		return nil, err
	}
	var wait sync.WaitGroup
	var errs []error
	var mu sync.Mutex
	for _, over := range upstreams {
		for _, formats := range formatGroups {
			for i := range o.sides {
				wait.Go(func() {
					if err := o.throughGateway(ctx, c, i, over, ofFormats(cells, formats)); err != nil {
						mu.Lock()
						errs = append(errs, fmt.Errorf("%s, %s: %w", o.sides[i].name, over, err))
						mu.Unlock()
					}
				})
			}
		}
	}
	wait.Wait()
	return c, errors.Join(errs...)
}

// throughGateway sends the cells of one kind of upstream through one gateway.
func (o *options) throughGateway(ctx context.Context, c *comparison, i int, over string, cells []*cell) error {
	s := o.sides[i]
	dir := filepath.Join(o.tmp, s.name, "gateway-"+over+"-"+cells[0].Format)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sim, err := o.sides[0].start(ctx, dir, nil, "sim", "--addr", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer sim.stop()
	proxy, err := record(sim.address)
	if err != nil {
		return err
	}
	defer proxy.http.Close()
	config, err := os.ReadFile(filepath.Join(o.root, "conformance/gateway", over+".yml"))
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "gateway.yml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(config), "SIM", proxy.http.URL)), 0o600); err != nil {
		return err
	}
	models := "TOOLPOST_MODELS=" + filepath.Join(o.root, "conformance/gateway/models.yaml")
	gateway, err := s.start(ctx, dir, []string{models}, "serve", "--addr", "127.0.0.1:0", "--config", file)
	if err != nil {
		return err
	}
	defer gateway.stop()
	return o.send(ctx, c, i, over, gateway.address, proxy, cells)
}

// compareSim sends the cells to the simulator of each side.
func compareSim(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	cells, err := o.cells()
	if err != nil {
		return nil, err
	}
	return c, o.each(func(i int, s *side) error {
		sim, err := s.start(ctx, o.tmp, nil, "sim", "--addr", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer sim.stop()
		proxy, err := record(sim.address)
		if err != nil {
			return err
		}
		defer proxy.http.Close()
		return o.send(ctx, c, i, "sim", proxy.http.URL, proxy, cells)
	})
}

// send sends the cells, whole and streamed, and keeps the client's bytes and the upstream requests.
func (o *options) send(ctx context.Context, c *comparison, i int, over, address string, proxy *recorder, cells []*cell) error {
	for n, cell := range cells {
		if over != "sim" && !cell.through(over) || o.quick && (cell.Does == "retry" || cell.agent && n%4 != 0) {
			continue
		}
		var whole []byte
		for _, mode := range []string{"whole", "stream"} {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !cell.has(mode) {
				continue
			}
			stream := mode == "stream"
			name := fmt.Sprintf("%s/%s/%s/%s", over, cell.Format, cell.Cell, mode)
			model := cell.model(stream, 1000+2*n)
			if stream {
				model = cell.model(stream, 1001+2*n)
			}
			keep := func(step, seen string) {
				for k, up := range proxy.take() {
					seen += fmt.Sprintf("-- upstream request %d --\n%s", k+1, up)
				}
				c.add(i, name, "== "+step+"\n-- client --\n"+seen)
			}
			q, err := cell.request(cell.Request, model, stream)
			if err != nil {
				return err
			}
			switch cell.Does {
			case "cancel":
				keep("cancel", cancel(ctx, q, address, proxy, stream))
				continue
			case "model":
				_, seen := cell.asked(model).send(ctx, address)
				keep("model", seen)
				continue
			case "count":
				count, err := cell.counted(q)
				if err != nil {
					return err
				}
				_, seen := count.send(ctx, address)
				keep("count", seen)
			}
			answer, seen := q.send(ctx, address)
			keep("request", seen)
			if !stream {
				whole = answer
			}
			if cell.Does == "retrieve" {
				stored := "/v1/responses/" + responseID(answer)
				for _, method := range []string{"GET", "DELETE", "GET"} {
					_, seen := request{method: method, path: stored}.send(ctx, address)
					keep(method, seen)
				}
			}
			// A stream is not read here: the second request follows the whole answer.
			if next := cell.following(whole); next != nil {
				q, err := cell.request(next, model, stream)
				if err != nil {
					return err
				}
				_, seen := q.send(ctx, address)
				keep("second request", seen)
			}
		}
	}
	return nil
}

// cancel gives a request up once its upstream request is open.
func cancel(ctx context.Context, q request, address string, proxy *recorder, stream bool) string {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	proxy.mu.Lock()
	ended := proxy.ended
	proxy.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.send(ctx, address)
	}()
	if !proxy.until(func() bool { return proxy.open > 0 }) {
		return "no upstream request\n"
	}
	if stream {
		time.Sleep(100 * time.Millisecond) // for the first events
	}
	stop()
	<-done
	return fmt.Sprintf("the upstream request ended: %v\n", proxy.until(func() bool { return proxy.open == 0 && proxy.ended > ended }))
}

// responseID is the id of an answer in the format of Responses.
func responseID(answer []byte) string {
	var a struct{ ID string }
	_ = json.Unmarshal(answer, &a) // without an id the request fails on both sides alike
	return a.ID
}
