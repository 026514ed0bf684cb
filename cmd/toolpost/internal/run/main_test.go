package run_test

import (
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, "run") }
