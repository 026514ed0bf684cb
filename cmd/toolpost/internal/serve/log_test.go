package serve

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// A log holds lines back only shortly after a write. It keeps their order and never holds back a warning.
func TestLogOfManyRequests(t *testing.T) {
	var out clitest.Writes
	log, end := gatewayLog(&out, "")
	log.Info("line", "n", 0)
	if text, _ := out.All(); !strings.Contains(text, "n=0") {
		t.Fatalf("the first line waits: %q", text)
	}
	for n := 1; n < 1000; n++ {
		log.Info("line", "n", n)
	}
	if _, times := out.All(); times > 900 {
		t.Errorf("1000 lines were written %d times", times)
	}
	log.With("a", 1).WithGroup("g").Warn("look")
	if text, _ := out.All(); !strings.Contains(text, "msg=look") {
		t.Error("a warning waits")
	}
	log.Info("line", "n", 1000)
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if text, _ := out.All(); strings.Contains(text, "n=1000") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a line that was held never came")
		}
		time.Sleep(10 * time.Millisecond)
	}
	log.Info("line", "n", 1001)
	log.Info("line", "n", 1002)
	end()
	text, _ := out.All()
	at := 0
	for n := range 1003 {
		next := strings.Index(text[at:], fmt.Sprintf(" n=%d\n", n))
		if next < 0 {
			t.Fatalf("line %d is missing or out of order", n)
		}
		at += next
	}
	if strings.Count(text, slog.LevelInfo.String()) != 1003 {
		t.Error("lines came twice")
	}
}
