package gateway

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// processStart is when the program began.
var processStart = time.Now()

// module is the path of this module, by which an embedding program knows its version.
const module = "github.com/toolpost/toolpost"

// buildMarks are the version of this module, the revision it was built from if the program is part of it, and the version of Go.
var buildMarks = sync.OnceValue(func() marks {
	of := marks{"unknown", "", runtime.Version()}
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

// processUse is what the operating system says of the program.
type processUse struct {
	cpu                   float64 // seconds
	resident, virtual     float64 // bytes
	openFiles, mostOpened float64
}

// heapSamples are what of the memory of Go is told. Reading them stops nothing.
var heapSamples = [...]string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/total:bytes"}

// processGauges are what can be said of the program, by the names that dashboards for programs in Go expect. What the operating
// system does not tell is left out.
func processGauges() []gauge {
	var heap [len(heapSamples)]metrics.Sample
	for i, name := range heapSamples {
		heap[i].Name = name
	}
	metrics.Read(heap[:])
	objects, unused, all := float64(heap[0].Value.Uint64()), float64(heap[1].Value.Uint64()), float64(heap[2].Value.Uint64())
	build := buildMarks()
	list := []gauge{
		{"toolpost_build_info", "The version of Toolpost, the revision it was built from, and the version of Go; the value is 1.", []string{"version", "revision", "goversion"}, map[marks]float64{build: 1}},
		{"go_info", "The version of Go; the value is 1.", []string{"version"}, map[marks]float64{{build[2]}: 1}},
		{"go_goroutines", "Goroutines of the program.", nil, single(float64(runtime.NumGoroutine()))},
		{"go_memstats_heap_alloc_bytes", "Memory of objects on the heap, also of those that are not collected yet.", nil, single(objects)},
		{"go_memstats_heap_inuse_bytes", "Memory of the heap that is in use.", nil, single(objects + unused)},
		{"go_memstats_sys_bytes", "Memory that Go has from the operating system.", nil, single(all)},
		{"process_start_time_seconds", "When the program began, in seconds since 1970.", nil, single(float64(processStart.UnixNano()) / 1e9)},
	}
	use, ok := readProcess()
	if !ok {
		return list
	}
	return append(list,
		gauge{"process_cpu_seconds_total", "Time of the processors that the program has used.", nil, single(use.cpu)},
		gauge{"process_resident_memory_bytes", "Memory of the program that is in RAM.", nil, single(use.resident)},
		gauge{"process_virtual_memory_bytes", "Addresses of memory that the program has.", nil, single(use.virtual)},
		gauge{"process_open_fds", "Files and connections that are open.", nil, single(use.openFiles)},
		gauge{"process_max_fds", "How many files and connections may be open.", nil, single(use.mostOpened)},
	)
}

// single is the value of a gauge without labels.
func single(v float64) map[marks]float64 { return map[marks]float64{{}: v} }
