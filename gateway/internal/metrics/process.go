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
		{"toolpost_build_info", "The version of Toolpost, the revision it was built from, and the version of Go; the value is 1.", []string{"version", "revision", "goversion"}, map[Labels]float64{build: 1}},
		{"go_info", "The version of Go; the value is 1.", []string{"version"}, map[Labels]float64{{build[2]}: 1}},
		{"go_goroutines", "Goroutines of the program.", nil, Single(float64(runtime.NumGoroutine()))},
		{"go_memstats_heap_alloc_bytes", "Memory of objects on the heap, also of those that are not collected yet.", nil, Single(objects)},
		{"go_memstats_heap_inuse_bytes", "Memory of the heap that is in use.", nil, Single(objects + unused)},
		{"go_memstats_sys_bytes", "Memory that Go has from the operating system.", nil, Single(all)},
		{"process_start_time_seconds", "When the program began, in seconds since 1970.", nil, Single(float64(processStart.UnixNano()) / 1e9)},
	}
	use, ok := readResources()
	if !ok {
		return list
	}
	return append(list,
		Gauge{"process_cpu_seconds_total", "Time of the processors that the program has used.", nil, Single(use.cpu)},
		Gauge{"process_resident_memory_bytes", "Memory of the program that is in RAM.", nil, Single(use.resident)},
		Gauge{"process_virtual_memory_bytes", "Addresses of memory that the program has.", nil, Single(use.virtual)},
		Gauge{"process_open_fds", "Files and connections that are open.", nil, Single(use.openFiles)},
		Gauge{"process_max_fds", "How many files and connections may be open.", nil, Single(use.mostOpened)},
	)
}

// Single returns the values of a gauge without labels.
func Single(v float64) map[Labels]float64 { return map[Labels]float64{{}: v} }
