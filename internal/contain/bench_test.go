package contain

import (
	"os/exec"
	"testing"
)

// BenchmarkRun measures the cost of a supervisor.
func BenchmarkRun(b *testing.B) {
	for name, o := range map[string]Options{"plain": {}, "supervised": {Supervised: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := o.Run(exec.CommandContext(b.Context(), "true")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
