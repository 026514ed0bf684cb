package connection

import (
	"runtime"
	"testing"

	"github.com/toolpost/toolpost/mcpbridge/config"
)

// A program that ended before it was sent anything counts as lost, so that its last words are reported.
func TestProgramThatEndedFirstIsLost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	p, err := StartProcess(config.ServerConfig{Name: "bad", Command: "sh", Args: []string{"-c", "exit 4"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
	if _, err := p.Write([]byte("{}\n")); err == nil || !Lost(err) {
		t.Errorf("the error is %v", err)
	}
	p.Cancel()
}
