package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
)

// locking opens a SQLite file as another program that can lock it.
func locking(t *testing.T, file string) (lock, free func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	run := func(statement string) func() {
		return func() {
			t.Helper()
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	return run("BEGIN EXCLUSIVE"), run("ROLLBACK")
}

// TestLockedStore locks the file with a gateway's keys and state. New requests are refused after about two seconds. An
// open request gets its response soon, and its usage is written when the file is unlocked.
func TestLockedStore(t *testing.T) {
	goOn := make(chan struct{})
	upstream := slowChat(t, goOn)
	clitest.Bare(t, map[string]string{"gateway.yaml": fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  keys: sqlite:gateway.db\n  routes: [{model: m, to: [{model: up/m}]}, {model: off, to: [{model: sim/offline}]}]\n", upstream)})
	t.Setenv(keys.StoreEnv, "")
	r := toolpost(t, "", "keys", "create", "--team", "a", "--config", "gateway.yaml")
	must(t, r, 0, "shown only this once")
	key := strings.TrimSpace(r.out)
	log := newLines()
	url, stop := startServing(t, log, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
	post, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Authorization", "Bearer "+key)
	stream, err := http.DefaultClient.Do(post)
	if err != nil || stream.StatusCode != 200 {
		t.Fatal(stream, err)
	}
	defer stream.Body.Close()

	lock, free := locking(t, "gateway.db")
	lock()
	began := time.Now()
	close(goOn)
	if b, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(b), "[DONE]") || time.Since(began) > 5*time.Second {
		t.Errorf("the request that was under way: %v after %v\n%s", err, time.Since(began), b)
	}
	log.until(t, "it is kept and written later")
	began = time.Now()
	if asked := call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("off", "Hi")); asked.status != 503 || time.Since(began) > 4*time.Second {
		t.Errorf("while it is locked: %v %d %s after %v", asked.err, asked.status, asked.body, time.Since(began))
	}
	free()
	for range 200 {
		r = toolpost(t, "", "usage", "--by", "team", "--json", "--config", "gateway.yaml")
		var sums []struct{ Requests, Input, Output int }
		if err := json.Unmarshal([]byte(r.out), &sums); err == nil && len(sums) == 1 && sums[0].Requests == 1 && sums[0].Output > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(r.out, `"requests": 1`) && !strings.Contains(r.out, `"requests":1`) {
		t.Errorf("what was used: %s%s", r.out, r.errOut)
	}
	if asked := call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("off", "Hi")); asked.status != 200 {
		t.Errorf("afterwards: %v %d %s", asked.err, asked.status, asked.body)
	}
	stop()
	log.until(t, "the gateway has ended")
}

// TestRemovedStore removes a file of a gateway's store. The log and /readyz report it until the file is back.
func TestRemovedStore(t *testing.T) {
	for _, file := range []string{"keys.db", "state.db"} {
		clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n  keys: sqlite:keys.db\n  state: sqlite:state.db\n  reload: 20ms\n  routes: [{model: m, to: [{model: sim/offline}]}]\n"})
		t.Setenv(keys.StoreEnv, "")
		log := newLines()
		url, _ := startServing(t, log, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
		ready := func(want int, says string) {
			t.Helper()
			resp, err := http.Get(url + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if b, _ := io.ReadAll(resp.Body); resp.StatusCode != want || !strings.Contains(string(b), says) {
				t.Errorf("%s: %d %s", file, resp.StatusCode, b)
			}
		}
		ready(200, "ready")
		if err := os.Rename(file, "elsewhere.db"); err != nil {
			t.Fatal(err)
		}
		log.until(t, "was removed or replaced while it is open")
		ready(503, "was removed or replaced")
		writeFile(t, file, "") // another file with the same name
		time.Sleep(100 * time.Millisecond)
		ready(503, "was removed or replaced")
		if err := os.Rename("elsewhere.db", file); err != nil {
			t.Fatal(err)
		}
		log.until(t, "are there again")
		ready(200, "ready")
	}
}
