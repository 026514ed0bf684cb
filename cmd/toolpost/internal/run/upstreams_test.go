//go:build unix

package run_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/testkit"
)

// upstreams are servers that never finish a response. Each gets the connection after the request and writes until the
// connection breaks.
var upstreams = map[string]func(net.Conn){
	"silence before the answer": func(net.Conn) {},
	"headers without end": func(c net.Conn) {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c, "X-%d: a\r\n", i); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	},
	"one header without end": func(c net.Conn) {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nX: ")
		pour(c, strings.Repeat("x", 1000), time.Millisecond)
	},
	"silence after the headers": func(c net.Conn) { fmt.Fprint(c, eventHead) },
	"silence after a word":      func(c net.Conn) { fmt.Fprint(c, eventHead+wordEvent) },
	"keep-alives": func(c net.Conn) {
		fmt.Fprint(c, eventHead+wordEvent)
		pour(c, ": keep-alive\n\n", 10*time.Millisecond)
	},
	"text": func(c net.Conn) {
		fmt.Fprint(c, eventHead)
		pour(c, wordEvent, 0)
	},
	"long lines": func(c net.Conn) {
		fmt.Fprint(c, eventHead)
		pour(c, `data: {"choices":[{"index":0,"delta":{"content":"`+strings.Repeat("word ", 10_000)+`"}}]}`+"\n\n", 0)
	},
	"one line without end": func(c net.Conn) {
		fmt.Fprint(c, eventHead+`data: {"choices":[{"index":0,"delta":{"content":"`)
		pour(c, strings.Repeat("word ", 1000), 0)
	},
	"one event of empty parts": func(c net.Conn) {
		fmt.Fprint(c, eventHead+`data: {"choices":[{"index":0,"delta":{"content":[{}`+strings.Repeat(",{}", 10<<20)+"]}}]}\n\n")
	},
	"one event of annotations": func(c net.Conn) {
		fmt.Fprint(c, eventHead+`data: {"choices":[{"index":0,"delta":{"content":"a","annotations":[{}`+strings.Repeat(",{}", 10<<20)+"]}}]}\n\n")
	},
	"one event of extra keys": func(c net.Conn) {
		fmt.Fprint(c, eventHead+`data: {"choices":[{"index":0,"delta":{"content":"a"}}],"x":{"a":0`+strings.Repeat(`,"":0`, 6<<20)+"}}\n\n")
	},
	"thinking": func(c net.Conn) {
		fmt.Fprint(c, eventHead)
		pour(c, `data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm "}}]}`+"\n\n", 0)
	},
	"a call": func(c net.Conn) {
		fmt.Fprint(c, eventHead+`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read_file","arguments":"{\"path\":\""}}]}}]}`+"\n\n")
		pour(c, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"aaaa"}}]}}]}`+"\n\n", 0)
	},
	"one document without end": func(c net.Conn) {
		fmt.Fprint(c, documentHead+`{"choices":[{"index":0,"message":{"role":"assistant","content":"`)
		pour(c, strings.Repeat("word ", 1000), 10*time.Millisecond)
	},
	"one document of much text": func(c net.Conn) {
		fmt.Fprint(c, documentHead+`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`+strings.Repeat("a\\n", 20<<20)+`"}}]}`)
	},
	"a compressed document without end": func(c net.Conn) {
		fmt.Fprint(c, strings.Replace(documentHead, "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1))
		z := gzip.NewWriter(c)
		fmt.Fprint(z, `{"choices":[{"index":0,"message":{"role":"assistant","content":"`)
		for err := error(nil); err == nil; {
			_, err = z.Write(make([]byte, 1<<20))
		}
	},
	"blanks": func(c net.Conn) {
		fmt.Fprint(c, documentHead)
		pour(c, "\n", time.Millisecond)
	},
	"an error without end": func(c net.Conn) {
		fmt.Fprint(c, "HTTP/1.1 500 No\r\nContent-Type: application/json\r\n\r\n")
		pour(c, `{"error":`, time.Millisecond)
	},
}

const (
	documentHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
	eventHead    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	wordEvent    = `data: {"choices":[{"index":0,"delta":{"content":"word "}}]}` + "\n\n"
)

// pour writes text repeatedly until the connection breaks.
func pour(c net.Conn, text string, pause time.Duration) {
	for {
		if _, err := c.Write([]byte(text)); err != nil {
			return
		}
		time.Sleep(pause)
	}
}

// endlessServer handles every completion request with behave, and returns 404 for all others. It reports each request
// on asked.
func endlessServer(t *testing.T, behave func(net.Conn)) (address string, asked <-chan bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan bool, 100)
	done := make(chan bool)
	t.Cleanup(func() { close(done); l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				line, err := bufio.NewReader(c).ReadString('\n')
				if err != nil {
					return
				}
				if !strings.HasPrefix(line, "POST") {
					fmt.Fprint(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
					return
				}
				told <- true
				behave(c)
				<-done
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/v1#m", told
}

// For any behaviour of a model's server, a signal ends the program within a second, unless a limit of the answer ended
// it before. The memory stays bounded.
func TestSignalEndsRunForAnyUpstream(t *testing.T) {
	for name, behave := range upstreams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := programtest.NewMachine(t, nil)
			soon(t, func() time.Duration {
				address, asked := endlessServer(t, behave)
				cmd := m.Program("run", "-m", address, "Say something.")
				errOut := programtest.Start(t, cmd)
				peak := watchMemory(cmd.Process)
				select {
				case <-asked:
				case <-time.After(programtest.LongWait):
					t.Fatal("the server was not asked")
				}
				time.Sleep(300 * time.Millisecond)
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err, errOut)
				}
				e := programtest.Await(t, cmd, errOut)
				// On a fast machine a flood reaches its limit before the signal.
				flood := e.Code == cli.ExitFailed && (strings.Contains(e.ErrOut, "limit") || strings.Contains(e.ErrOut, "more than"))
				if e.Code != cli.ExitTerminated && !flood {
					t.Errorf("it ended after %v with %d:\n%.500s", e.Took, e.Code, e.ErrOut)
				}
				limit := int64(400 << 20)
				if testkit.Race {
					limit *= 5 // it records every word of memory
				}
				if rss := peak(); rss > limit {
					t.Errorf("it held %d MiB", rss>>20)
				}
				t.Logf("%d MiB", peak()>>20)
				return e.Took
			})
		})
	}
}

// watchMemory returns a function that reports the peak memory of a process, 0 if the system does not provide it. The
// value after the end of a process would include the memory of its parent.
func watchMemory(p *os.Process) (peak func() int64) {
	var most atomic.Int64
	go func() {
		for {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
			_, rest, ok := strings.Cut(string(status), "VmHWM:")
			if err != nil || !ok {
				return // the process has ended
			}
			kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if n, err := strconv.ParseInt(kilobytes, 10, 64); err == nil {
				most.Store(n << 10)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return most.Load
}

// soon checks that something ends in time, with the best of three tries. The promise is one second. The test allows far
// more, because machines have other work. Ignoring the signal takes minutes.
func soon(t *testing.T, try func() time.Duration) {
	t.Helper()
	const limit = programtest.LongWait / 2
	best := time.Hour
	for range 3 {
		if best = min(best, try()); best <= time.Second {
			break
		}
	}
	t.Logf("it ended after %v", best.Round(time.Millisecond))
	if best > limit {
		t.Errorf("it ended after %v at best", best)
	}
}

// Without a signal, an endless answer is stopped at its limit, and the program explains why.
func TestEndlessAnswersEndRuns(t *testing.T) {
	for name, want := range map[string]string{"text": "text limit", "long lines": "text limit", "thinking": "thinking limit", "a call": "text limit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := programtest.NewMachine(t, map[string]string{"c.yaml": "limits: {text: 2000000, thinking: 2000000}\n"})
			address, _ := endlessServer(t, upstreams[name])
			cmd := m.Program("run", "--config", "c.yaml", "-m", address, "Say something.")
			errOut := programtest.Start(t, cmd)
			peak := watchMemory(cmd.Process)
			e := programtest.Await(t, cmd, errOut)
			if e.Code != cli.ExitFailed || !strings.Contains(e.ErrOut, want) {
				t.Errorf("exit %d after %v:\n%.500s", e.Code, e.Took, e.ErrOut)
			}
			t.Logf("%v, %d MiB", e.Took.Round(time.Millisecond), peak()>>20)
		})
	}
}

// The same holds for a conversation on the screen.
func TestSignalEndsChatForAnyUpstream(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: no terminal to look at")
	}
	for _, name := range []string{"silence before the answer", "headers without end", "keep-alives", "text", "long lines"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			soon(t, func() time.Duration {
				address, asked := endlessServer(t, upstreams[name])
				term := programtest.NewTerminal(t)
				term.Size([]string{"80", "24"})
				term.Run("send-keys", "-t", "0", "-l", "toolpost chat -m '"+address+"' & echo $! > pid; fg")
				term.Run("send-keys", "-t", "0", "Enter")
				term.Wait("Say something", true)
				term.Run("send-keys", "-t", "0", "-l", "Hello.")
				term.Run("send-keys", "-t", "0", "Enter")
				select {
				case <-asked:
				case <-time.After(programtest.LongWait):
					t.Fatal("the server was not asked")
				}
				time.Sleep(300 * time.Millisecond)
				text, err := os.ReadFile(filepath.Join(term.Work, "pid"))
				if err != nil {
					t.Fatal(err)
				}
				pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				for syscall.Kill(pid, 0) == nil && time.Since(began) < programtest.LongWait {
					time.Sleep(10 * time.Millisecond)
				}
				return time.Since(began)
			})
		})
	}
}
