package serve

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How much garbage a gateway may accumulate before a collection: a number of bytes, but within these percentages of the
// live heap. Otherwise a gateway with few requests would collect a few megabytes all the time, and a gateway with
// thousands of open streams would keep as much garbage as live data.
const (
	spareMemory  = 48 << 20
	leastPercent = 20
	mostPercent  = 400
)

// garbagePercent returns the GC percentage for a live heap of the given size.
func garbagePercent(live uint64) int {
	percent := spareMemory * 100 / max(live, 1)
	return int(min(max(percent, leastPercent), mostPercent))
}

// collect adjusts the garbage collector to the live heap until the context ends. It does nothing if GOGC is set.
func collect(ctx context.Context, every time.Duration) {
	if os.Getenv("GOGC") != "" {
		return
	}
	const usual = 100
	defer debug.SetGCPercent(usual)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	set := usual
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		metrics.Read(live)
		// Changing the setting stops the world briefly, so small differences are ignored.
		if p := garbagePercent(live[0].Value.Uint64()); p*10 < set*9 || p*10 > set*11 {
			debug.SetGCPercent(p)
			set = p
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
