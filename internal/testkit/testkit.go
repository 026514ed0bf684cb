// Package testkit holds shared helpers for the tests of several packages: programs of this module, and the switch for
// tests that take long.
package testkit

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// longVar is the variable that turns on long tests. .ci/run sets it.
const longVar = "TOOLPOST_LONG"

// IsLong reports whether long tests run.
func IsLong() bool { return os.Getenv(longVar) == "1" }

// Long skips a test unless long tests run. The reason explains why the test takes long.
func Long(t testing.TB, reason string) {
	t.Helper()
	if !IsLong() {
		t.Skipf("%s: set %s=1 to run it", reason, longVar)
	}
}

// MostlyWait lets eight tests run at once, for packages whose parallel tests wait for programs, terminals and servers.
// TestMain calls it. Under the race detector, which makes tests many times slower, it changes nothing.
func MostlyWait() {
	if flag.Parse(); Race {
		return
	}
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
}

// Build compiles the main package in a folder and returns the path of the executable.
//
// The executable comes from the build cache, where "go run" keeps it, so it is linked once for
// each version of the source and not once for each test. It must not be changed.
func Build(t testing.TB, dir string) string {
	t.Helper()
	path, err := BuildCached(dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// BuildCached is Build for callers without a test, such as TestMain.
func BuildCached(dir string) (path string, err error) {
	for range 2 { // a program that was just linked is in a temporary folder; the second time it is in the cache
		if path, err = executable(dir); err != nil {
			return "", err
		}
		if _, err = os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the build cache does not keep the program in %s: %w", dir, err)
}

// executable lets the go command build a program and returns where it is.
func executable(dir string) (string, error) {
	echo := "echo" // prints the path of the executable instead of running it
	if runtime.GOOS == "windows" {
		echo = "cmd /c echo"
	}
	var errOut strings.Builder
	cmd := exec.Command("go", "run", "-exec", echo, ".")
	cmd.Dir, cmd.Stderr = dir, &errOut
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot build the program in %s: %w\n%s", dir, err, errOut.String())
	}
	return strings.TrimSpace(string(out)), nil
}
