//go:build !unix

package client

import "time"

func processorTime() time.Duration { return 0 }
