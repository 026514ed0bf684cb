package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How much garbage a gateway lets lie before it is collected: so many bytes, but no less and no more
// than these percents of what is in use. A gateway with few requests would otherwise collect its few
// megabytes all the time, and one with thousands of open streams keep as much garbage as streams.
const (
	spareMemory  = 48 << 20
	leastPercent = 20
	mostPercent  = 400
)

// garbagePercent is the setting of the collector for so many bytes in use.
func garbagePercent(live uint64) int {
	percent := spareMemory * 100 / max(live, 1)
	return int(min(max(percent, leastPercent), mostPercent))
}

// collect sets the garbage collector by what is in use, until the context ends. Whoever sets GOGC
// decides instead.
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
		// Setting it stops the program for a moment, so small differences do not count.
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
