// Package realmodel asks a real language model on a real llama.cpp server, one
// that was never taught to call tools: through our codecs, and through package
// provider, which makes it call them. conformance/run realmodel sets both up.
package realmodel

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// Serve starts the server of serve.py in dir with the Python that has its
// packages, and returns its address and the function that stops it.
func Serve(python, dir string, threads int) (url string, stop func(), err error) {
	cmd := exec.Command(python, "serve.py", "--threads", fmt.Sprint(threads))
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		stdin.Close()
		timer := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer timer.Stop()
		cmd.Wait()
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go io.Copy(io.Discard, stdout)
			return url, stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("the server did not start:\n%s", log.String())
}

// Client makes a new connection each time: the server closes idle ones, and a
// POST that meets a closed one is not sent again.
var Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
