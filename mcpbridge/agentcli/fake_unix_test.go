//go:build unix

package agentcli_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// leave starts a program that goes on in a session of its own, and writes its number to a
// file.
func leave(file string) {
	cmd := exec.Command("sleep", "3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	if err := os.WriteFile(file+".part", fmt.Append(nil, cmd.Process.Pid), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(file+".part", file); err != nil {
		panic(err)
	}
}
