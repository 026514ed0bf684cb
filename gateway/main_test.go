package gateway_test

import (
	"os"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.MostlyWait()
	os.Exit(m.Run())
}
