//go:build unix

package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/testkit"
)

// The paths of deploy that tests replace.
const (
	deployedConfig = "/etc/toolpost/gateway.yaml"
	deployedState  = "/var/lib/toolpost"
)

// dockerfile returns the instructions of the Dockerfile, each as name and arguments.
func dockerfile(t *testing.T) (list [][2]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployDir, "container", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	for line := range strings.Lines(joined) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			name, rest, _ := strings.Cut(line, " ")
			list = append(list, [2]string{name, strings.TrimSpace(rest)})
		}
	}
	return list
}

// words parses the JSON form of an instruction.
func words(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return list
}

// builtImage is the result of the Dockerfile in a folder.
type builtImage struct {
	program string
	args    []string // of the program, with the configuration of deploy
	user    uint32
}

// buildImage runs the build commands of the Dockerfile in another folder, and checks that the copied files exist.
func buildImage(t *testing.T, dir string) (m builtImage) {
	t.Helper()
	known := []string{"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
	var entry []string
	placed := map[string]string{} // files copied from the build, by destination
	for _, line := range dockerfile(t) {
		name, rest := line[0], line[1]
		switch {
		case !slices.Contains(known, name):
			t.Errorf("%s is no instruction", name)
		case name == "RUN" && strings.Contains(rest, "go build"):
			if os.Getuid() != 0 {
				rest, _, _ = strings.Cut(rest, "&& chown")
			}
			build := exec.Command("sh", "-e", "-c", strings.ReplaceAll(rest, "/out/", dir+"/"))
			build.Dir = filepath.Join("..", "..", "..", "..")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", rest, err, out)
			}
		case name == "COPY":
			fields := strings.Fields(rest)
			fields = slices.DeleteFunc(fields, func(f string) bool { return strings.HasPrefix(f, "--chown=") })
			to := fields[len(fields)-1]
			for _, from := range fields[:len(fields)-1] {
				if made, ok := strings.CutPrefix(from, "/out/"); ok {
					placed[to], from = filepath.Join(dir, made), filepath.Join(dir, made)
				} else if strings.HasPrefix(from, "-") || strings.HasPrefix(from, "/") {
					continue // the build stage, or files of the base image
				} else {
					from = filepath.Join("..", "..", "..", "..", from)
				}
				if _, err := os.Stat(from); err != nil {
					t.Errorf("COPY %s: %v", rest, err)
				}
			}
		case name == "USER":
			if n, err := fmt.Sscanf(rest, "%d:", &m.user); n != 1 || err != nil || m.user == 0 {
				t.Errorf("USER %s: %v", rest, err)
			}
		case name == "ENTRYPOINT":
			entry = words(t, rest)
		case name == "CMD":
			m.args = words(t, rest)
		}
	}
	if len(entry) != 1 || placed[entry[0]] == "" || placed[deployedState] == "" {
		t.Fatalf("ENTRYPOINT %v of %v", entry, placed)
	}
	m.program = placed[entry[0]]
	return m
}

// moved returns a configuration of deploy with other paths and ports.
func moved(t *testing.T, text, state string, ports ...string) string {
	t.Helper()
	text = strings.ReplaceAll(text, deployedState, state)
	for i := 0; i+1 < len(ports); i += 2 {
		if !strings.Contains(text, ":"+ports[i]+"\n") && !strings.Contains(text, ":"+ports[i]+" ") {
			t.Fatalf("no port %s in %s", ports[i], text)
		}
		text = strings.ReplaceAll(text, ":"+ports[i], ":"+ports[i+1])
	}
	return text
}

// firstKeys returns the commands in operations.md that create the first key: the arguments after the program name, by
// the first word.
func firstKeys(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/gateway/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		before, rest, ok := strings.Cut(strings.TrimSpace(line), "toolpost keys create ")
		if ok && !strings.Contains(before, "`") {
			out[strings.Fields(before)[0]] = append([]string{"keys", "create"}, strings.Fields(rest)...)
		}
	}
	if len(out) != 3 {
		t.Fatalf("%v", out)
	}
	return out
}

// in replaces the path of the configuration.
func in(args []string, config string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == deployedConfig {
			args[i] = config
		}
	}
	return args
}

// TestFirstKeys runs the documented commands that create the first key, with each configuration of deploy.
func TestFirstKeys(t *testing.T) {
	mounted := manifests(t)["ConfigMap"].Data[filepath.Base(deployedConfig)]
	for tool, args := range firstKeys(t) {
		t.Run(tool, func(t *testing.T) {
			dir := t.TempDir()
			clitest.Bare(t, nil)
			text := mounted
			switch file := map[string]string{"docker": "container", "sudo": "systemd"}[tool]; {
			case file != "":
				b, err := os.ReadFile(filepath.Join(deployed, file, "gateway.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				text = string(b)
			case tool == "kubectl":
				t.Setenv(keys.StoreEnv, "sqlite:"+dir+"/keys.db") // named by the Secret
			default:
				t.Fatalf("%s makes no key here", tool)
			}
			config := filepath.Join(dir, "gateway.yaml")
			programtest.WriteFile(t, config, moved(t, text, dir))
			got := programtest.Run(t, "", in(args, config)...)
			programtest.Must(t, got, 0, "tp-", "shown only this once")
			programtest.Must(t, programtest.Run(t, "", "keys", "list", "--config", config), 0, strings.TrimSpace(got.Out)[:13], "ops")
		})
	}
}

// deployed is the absolute path of deploy.
var deployed = func() string {
	dir, err := filepath.Abs(deployDir)
	if err != nil {
		panic(err)
	}
	return dir
}()

// started is a gateway that runs as a separate process.
type started struct {
	cmd    *exec.Cmd
	errOut *bytes.Buffer
	ended  chan error
}

// start runs the image with only the environment of the Dockerfile.
func (m builtImage) start(t *testing.T, config, home string) *started {
	t.Helper()
	s := &started{cmd: exec.Command(m.program, in(m.args, config)...), errOut: new(bytes.Buffer), ended: make(chan error, 1)}
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = []string{"HOME=" + home}, "/", s.errOut
	if os.Getuid() == 0 {
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: m.user, Gid: m.user}}
	}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { s.ended <- s.cmd.Wait() }()
	if err != nil || !strings.HasPrefix(line, "listening on http://") {
		s.cmd.Process.Kill()
		<-s.ended
		t.Fatalf("%q, %v: %s", line, err, s.errOut)
	}
	return s
}

// TestContainerRuns builds the program as the Dockerfile does and runs it as the user of the image. It sends the probes
// of the Deployment, requires a key, creates the first key as documented, and checks that SIGTERM ends an idle gateway
// after its drain delay of 5 seconds.
func TestContainerRuns(t *testing.T) {
	testkit.Long(t, "it builds the command again")
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // for the user of the image
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := buildImage(t, dir)
	state, config, http1, ops := filepath.Join(dir, "state"), filepath.Join(dir, "gateway.yaml"), strconv.Itoa(freePort(t)), strconv.Itoa(freePort(t))
	text, err := os.ReadFile(filepath.Join(deployDir, "container", "gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	programtest.WriteFile(t, config, moved(t, string(text), state, "8230", http1, "9464", ops))
	if err := os.Chmod(config, 0o644); err != nil {
		t.Fatal(err)
	}
	s := m.start(t, config, state)
	get := func(port, path, key string) (int, string) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:"+port+path, nil)
		r.Host = "10.244.1.7:" + port // the address of the pod
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	pod := manifests(t)["Deployment"].Spec.Template.Spec.Containers[0]
	for _, path := range []string{pod.Liveness.HTTPGet.Path, pod.Readiness.HTTPGet.Path, "/metrics"} {
		if status, body := get(ops, path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := get(http1, "/v1/models", ""); status != 401 {
		t.Errorf("without a key: %d %s", status, body)
	}
	first := exec.Command(m.program, in(firstKeys(t)["docker"], config)...)
	first.Env, first.SysProcAttr = s.cmd.Env, s.cmd.SysProcAttr
	key, err := first.Output()
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(http1, "/v1/models", strings.TrimSpace(string(key))); status != 200 {
		t.Errorf("with the first key: %d %s", status, body)
	}
	begun := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		if took := time.Since(begun); err != nil || took > 15*time.Second || !strings.Contains(s.errOut.String(), "the gateway has ended") {
			t.Errorf("after %v: %v\n%s", took, err, s.errOut)
		}
	case <-time.After(30 * time.Second):
		s.cmd.Process.Kill()
		t.Fatalf("SIGTERM does not end it: %s", s.errOut)
	}
}
