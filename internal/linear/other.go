//go:build !linux && !darwin

package linear

import "time"

// measures is whether threadTime returns processor time, which a busy machine
// does not change.
const measures = false

var begun = time.Now()

func threadTime() time.Duration { return time.Since(begun) }

func processTime() time.Duration { return time.Since(begun) }
