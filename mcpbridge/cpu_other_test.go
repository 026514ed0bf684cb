//go:build !unix

package mcpbridge

import "time"

func processorTime() time.Duration { return 0 }
