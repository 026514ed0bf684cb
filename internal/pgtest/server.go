//go:build unix

package pgtest

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// Server returns the address of a server: the value of TOOLPOST_POSTGRES, or
// else a server that it starts, if the distribution's packages are installed.
// Without either, the test is skipped and the log gives the reason. The server
// ends with the test.
func Server(t *testing.T) string {
	t.Helper()
	if address := os.Getenv("TOOLPOST_POSTGRES"); address != "" {
		return address
	}
	return start(t)
}

// Schema returns the address of an empty schema on a server. It is dropped when
// the test ends.
func Schema(t *testing.T, dsn string) string {
	t.Helper()
	name := fmt.Sprintf("toolpost_test_%d_%d", os.Getpid(), time.Now().UnixNano())
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP SCHEMA " + name + " CASCADE"); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	if _, err := db.Exec("CREATE SCHEMA " + name); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(dsn, "://") {
		return dsn + map[bool]string{true: "&", false: "?"}[strings.Contains(dsn, "?")] + "search_path=" + name
	}
	return dsn + " search_path=" + name
}

// start starts a server with a separate data directory and returns its address.
func start(t *testing.T) string {
	t.Helper()
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 {
		t.Skip("no PostgreSQL: install the package postgresql, or name a server in TOOLPOST_POSTGRES")
	}
	bin := slices.MaxFunc(bins, func(a, b string) int { return version(a) - version(b) })
	as := serverUser(t)
	dir, err := os.MkdirTemp("", "pg") // t.TempDir is closed to others, and its path too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.Env = dir, []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
		if as != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		}
		return cmd
	}
	if out, err := command("initdb", "-D", data, "-U", "toolpost", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		t.Skipf("initdb: %v\n%s", err, out)
	}
	port := freePort(t)
	server := command("postgres", "-D", data, "-k", dir, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-c", "fsync=off", "-c", "max_connections=200")
	var log strings.Builder
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Skipf("postgres: %v", err)
	}
	t.Cleanup(func() {
		server.Process.Signal(os.Interrupt) // fast shutdown
		server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	dsn := fmt.Sprintf("postgres://toolpost@127.0.0.1:%d/postgres?sslmode=disable", port)
	waitFor(t, dsn)
	return dsn
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

// serverUser returns whom to run the server as: it refuses to be root.
func serverUser(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Skipf("PostgreSQL does not run as root, and there is no user for it: %v", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func waitFor(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err = db.Ping(); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not come up: %v", err)
		}
	}
}
