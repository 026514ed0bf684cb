package metrics

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// processStart is the start time of the program, for process_start_time_seconds.
var processStart = time.Now()

// module is the path of this module in the build information.
const module = "github.com/toolpost/toolpost"

// buildLabels returns the version of this module, its revision if the program is part of this module, and the Go version.
var buildLabels = sync.OnceValue(func() Labels {
	of := Labels{"unknown", "", runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return of
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			of[0] = dep.Version
		}
	}
	if info.Main.Path != module {
		return of
	}
	of[0] = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			of[1] = s.Value
		}
	}
	return of
})

// resources is what the operating system reports about the process.
type resources struct {
	cpu                   float64 // seconds
	resident, virtual     float64 // bytes
	openFiles, mostOpened float64
}

// heapSamples are the runtime metrics that are exported. Reading them does not stop the program.
var heapSamples = [...]string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/total:bytes"}

// Process returns gauges about the process, under the names that dashboards for Go programs expect. Values that the
// operating system does not report are omitted.
func Process() []Gauge {
	var heap [len(heapSamples)]metrics.Sample
	for i, name := range heapSamples {
		heap[i].Name = name
	}
	metrics.Read(heap[:])
	objects, unused, all := float64(heap[0].Value.Uint64()), float64(heap[1].Value.Uint64()), float64(heap[2].Value.Uint64())
	build := buildLabels()
	list := []Gauge{
		{"toolpost_build_info", "Versions of Toolpost and Go, and the revision of the source. The value is 1.", []string{"version", "revision", "goversion"}, map[Labels]float64{build: 1}},
		{"go_info", "The version of Go. The value is 1.", []string{"version"}, map[Labels]float64{{build[2]}: 1}},
		{"go_goroutines", "Goroutines.", nil, Single(float64(runtime.NumGoroutine()))},
		{"go_memstats_heap_alloc_bytes", "Heap memory of objects, including those that are not collected yet.", nil, Single(objects)},
		{"go_memstats_heap_inuse_bytes", "Heap memory in use.", nil, Single(objects + unused)},
		{"go_memstats_sys_bytes", "Memory that Go got from the operating system.", nil, Single(all)},
		{"process_start_time_seconds", "Start of the program, in seconds since 1970.", nil, Single(float64(processStart.UnixNano()) / 1e9)},
	}
	use, ok := readResources()
	if !ok {
		return list
	}
	return append(list,
		Gauge{"process_cpu_seconds_total", "Processor time of the program (Linux).", nil, Single(use.cpu)},
		Gauge{"process_resident_memory_bytes", "Memory of the program in RAM (Linux).", nil, Single(use.resident)},
		Gauge{"process_virtual_memory_bytes", "Virtual memory of the program (Linux).", nil, Single(use.virtual)},
		Gauge{"process_open_fds", "Open files and connections (Linux). An HTTP/1.1 stream uses two.", nil, Single(use.openFiles)},
		Gauge{"process_max_fds", "Limit of open files and connections (Linux).", nil, Single(use.mostOpened)},
	)
}

// Single returns the values of a gauge without labels.
func Single(v float64) map[Labels]float64 { return map[Labels]float64{{}: v} }
