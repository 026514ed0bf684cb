package contain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	roleVar = "CONTAIN_TEST_ROLE"
	keyVar  = "CONTAIN_TEST_API_KEY"
	secret  = "sk-contain-0123456789abcdef"
)

// TestMain lets the test binary play other processes.
func TestMain(m *testing.M) {
	Supervise()
	switch role := os.Getenv(roleVar); role {
	case "":
		os.Exit(m.Run())
	case "holder": // holds a key, hides it and runs a program
		if err := HideKeys(); err != nil {
			fmt.Println("HideKeys:", err)
			os.Exit(1)
		}
		fallthrough
	case "careless": // holds a key and runs a program
		cmd := exec.CommandContext(context.Background(), "sh", "-c", os.Args[1])
		cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH")}, os.Stdout, os.Stderr
		err := Options{Supervised: true}.Run(cmd)
		dumpable, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		fmt.Printf("\nended: %v, dumpable %d, key %s\n", err, dumpable, os.Getenv(keyVar))
		os.Exit(0)
	default:
		os.Exit(2)
	}
}

// shell runs a script contained and returns its output.
func shell(t *testing.T, ctx context.Context, o Options, script string) (string, *exec.Cmd, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Stdout, cmd.Stderr = &out, &out
	if len(o.Sandbox) > 0 {
		cmd.Dir = o.Sandbox[0]
	}
	err := o.Run(cmd)
	return out.String(), cmd, err
}

// asleep returns the number of processes that sleep for the given seconds.
func asleep(t *testing.T, seconds string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		line, _ := os.ReadFile(f)
		if strings.Contains(string(line), "sleep\x00"+seconds) {
			n++
		}
	}
	return n
}

// long is the time that tests wait for an immediate event: even a busy machine
// is faster.
const long = time.Minute

// awake waits until no process sleeps for the given seconds any more.
func awake(t *testing.T, seconds string) int {
	t.Helper()
	return sleepers(t, seconds, func(n int) bool { return n == 0 })
}

// sleepers waits until the number of processes that sleep for the given seconds
// is right, and returns it.
func sleepers(t *testing.T, seconds string, right func(n int) bool) int {
	t.Helper()
	n := asleep(t, seconds)
	for end := time.Now().Add(long); !right(n) && time.Now().Before(end); n = asleep(t, seconds) {
		time.Sleep(20 * time.Millisecond)
	}
	return n
}

// whenAsleep calls do when a process sleeps for the given seconds.
func whenAsleep(t *testing.T, seconds string, do func()) {
	t.Helper()
	go func() {
		sleepers(t, seconds, func(n int) bool { return n > 0 })
		do()
	}()
}

// detached are ways of a program to leave a process running.
var detached = map[string]string{
	"in the background":          "sleep %s >/dev/null 2>&1 &",
	"in a session of its own":    "setsid sleep %s >/dev/null 2>&1 &",
	"forked twice":               "(setsid sh -c 'setsid sleep %s & exec true' >/dev/null 2>&1 &)",
	"without environment":        "env -i setsid sh -c 'exec 3>&- 4>&-; sleep %s' >/dev/null 2>&1 &",
	"holding the output":         "setsid sleep %s &",
	"ignoring signals":           "(trap '' HUP INT TERM; setsid sleep %s >/dev/null 2>&1 &)",
	"after killing its siblings": "setsid sleep %s >/dev/null 2>&1 & kill -TERM $PPID",
}

// All processes that a program started have ended when it has ended, or was stopped.
func TestNothingIsLeftBehind(t *testing.T) {
	for how, line := range detached {
		for _, stopped := range []bool{false, true} {
			seconds := fmt.Sprint(4000 + rand.IntN(1e9))
			script := fmt.Sprintf(line, seconds) + "\nsleep 0.2\n"
			ctx, cancel := context.WithCancel(t.Context())
			if stopped {
				script += "sleep 3" + seconds
				whenAsleep(t, "3"+seconds, cancel)
			}
			start := time.Now()
			out, _, err := shell(t, ctx, Options{Supervised: true}, script)
			if took := time.Since(start); took > long+long/2 {
				t.Errorf("%s, stopped %v: it took %v", how, stopped, took)
			}
			if stopped == (err == nil) {
				t.Errorf("%s, stopped %v: %v %q", how, stopped, err, out)
			}
			if n := awake(t, seconds) + awake(t, "3"+seconds); n > 0 {
				t.Errorf("%s, stopped %v: %d processes are left", how, stopped, n)
			}
			cancel()
		}
	}
}

// If this process is killed, the programs that it ran end, too.
func TestAStoppedSupervisorEndsItsPrograms(t *testing.T) {
	seconds := fmt.Sprint(4000 + rand.IntN(1e9))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	whenAsleep(t, "3"+seconds, cancel)
	start := time.Now()
	_, _, err := shell(t, ctx, Options{Supervised: true}, "setsid sleep "+seconds+" &\nsleep 0.1; kill -STOP $PPID; sleep 3"+seconds)
	if took := time.Since(start); err == nil || took > long+long/2 {
		t.Errorf("it took %v: %v", took, err)
	}
	if n := awake(t, seconds) + awake(t, "3"+seconds); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}

func TestNothingSurvivesUs(t *testing.T) {
	seconds := fmt.Sprint(4000 + rand.IntN(1e9))
	cmd := exec.Command("/proc/self/exe", "setsid sleep "+seconds+" & sleep "+seconds)
	cmd.Env = append(os.Environ(), roleVar+"=careless")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n := sleepers(t, seconds, func(n int) bool { return n >= 2 }); n < 2 {
		t.Fatalf("%d of 2 programs run", n)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if n := awake(t, seconds); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}

// A program ends as it would without a supervisor.
func TestEndings(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137} {
		out, cmd, _ := shell(t, t.Context(), Options{Supervised: true}, "echo hi; echo there >&2; "+script)
		if got := cmd.ProcessState.ExitCode(); got != want || out != "hi\nthere\n" {
			t.Errorf("%s: exit code %d, %q", script, got, out)
		}
	}
	for _, name := range []string{"no-such-program", "/no/such/program", "/etc/passwd"} {
		var unknown *exec.Error
		if err := (Options{Supervised: true}).Run(exec.CommandContext(t.Context(), name)); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A program is in a separate session, without our terminal.
func TestNoTerminalOfOurs(t *testing.T) {
	ours, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Supervised: true}} {
		out, _, err := shell(t, t.Context(), o, "cut -d' ' -f6 /proc/$$/stat; (: </dev/tty) 2>/dev/null && echo a terminal")
		if got := strings.TrimSpace(out); got == "" || got == fmt.Sprint(ours) || strings.Contains(got, "terminal") {
			t.Errorf("supervised %v: the session is %q, ours is %d: %v", o.Supervised, got, ours, err)
		}
	}
}

// environs prints the environment of every process that can be read.
const environs = `for f in /proc/[0-9]*/environ; do tr '\0' '\n' <$f; done 2>/dev/null`

// A program cannot read the keys of the process that runs it, neither as root
// nor as the same user; the process itself still has them.
func TestKeysAreHidden(t *testing.T) {
	for _, user := range []uint32{0, 65534} {
		for role, hidden := range map[string]bool{"careless": false, "holder": true} {
			cmd := exec.Command("/proc/self/exe", environs)
			cmd.Env = []string{roleVar + "=" + role, keyVar + "=" + secret, "PATH=" + os.Getenv("PATH"), "HOME=/"}
			cmd.Dir = "/"
			if os.Getuid() != 0 && user != 0 {
				continue
			}
			if user != 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
			}
			out, err := cmd.CombinedOutput()
			said, end, _ := strings.Cut(string(out), "\nended: ")
			if err != nil || !strings.Contains(end, "key "+secret) {
				t.Fatalf("user %d, %s: %v %q", user, role, err, out)
			}
			if found := strings.Contains(said, secret); found == hidden {
				t.Errorf("user %d, %s: the key was found: %v", user, role, found)
			}
			if hidden && !strings.Contains(end, "dumpable 0") {
				t.Errorf("user %d: %s", user, end)
			}
		}
	}
}

// A sandboxed program writes and reads the given folders, runs programs, and
// cannot reach other files.
func TestSandbox(t *testing.T) {
	if err := Sandboxed(); err != nil {
		t.Skip(err)
	}
	base := t.TempDir()
	root := filepath.Join(base, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(base, "outside.txt")
	for name, text := range map[string]string{outside: secret, filepath.Join(root, "inside.txt"): "fine"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	o := Options{Supervised: true, Sandbox: []string{root}}
	for script, allowed := range map[string]bool{
		"cat inside.txt; echo more >>inside.txt; mkdir sub; mv inside.txt sub; rm sub/inside.txt; echo x >inside.txt": true,
		"ls -l /usr/bin/env; env true; cat /etc/passwd >/dev/null; echo x >/dev/null":                                 true,
		"cat " + outside: false, "cat link": false, "cat ../outside.txt": false, "ls ..": false,
		"echo x >" + outside: false, "echo x >>link": false, "truncate -s 0 " + outside: false, "rm " + outside: false, "mv " + outside + " .": false,
		"ln " + outside + " hard": false, "echo x >/tmp/toolpost-sandbox-test": false, "touch /etc/toolpost-sandbox-test": false, fmt.Sprintf("cat /proc/%d/environ", os.Getpid()): false,
		"kill -9 $PPID": false, "cat /root/.profile /home/*/.profile": false, "chmod 777 link && cat link": false,
	} {
		out, _, err := shell(t, t.Context(), o, "set -e\n"+script)
		if (err == nil) != allowed {
			t.Errorf("%s: %v %q", script, err, out)
		}
		if strings.Contains(out, secret) {
			t.Errorf("%s gave the secret away", script)
		}
	}
	if got, _ := os.ReadFile(outside); string(got) != secret {
		t.Errorf("the file outside is now %q", got)
	}
	if _, err := os.ReadFile(outside); err != nil {
		t.Errorf("this process is in the sandbox, too: %v", err)
	}
	if err := (Options{Sandbox: []string{root}}).Run(exec.CommandContext(t.Context(), "true")); err == nil {
		t.Error("a sandbox without a supervisor was no error")
	}
}

// TestSupervisorNeedsSupervise runs a command in a program whose main did not call Supervise. Such a program must not
// start itself.
func TestSupervisorNeedsSupervise(t *testing.T) {
	canSupervise.Store(false)
	defer canSupervise.Store(true)
	cmd := exec.CommandContext(t.Context(), "true")
	if err := (Options{Supervised: true}).Run(cmd); err != errNoSupervise || cmd.Process != nil {
		t.Errorf("%v, started %v", err, cmd.Process != nil)
	}
}
