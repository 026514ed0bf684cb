package main

import (
	"fmt"
	"math"
	"slices"
)

// table is what a run measured, every target once a round in every cell.
type table struct {
	targets []target
	levels  []string
	rounds  int
	results map[cell][]result
}

// column is one figure of a cell in one round, which the same round's direct is given to.
type column struct {
	name, format string
	of           func(r, direct result) float64
}

var (
	addedP50 = column{"added p50", "%.2f", func(r, d result) float64 { return r.p50 - d.p50 }}
	cpu      = column{"CPU ms/request", "%.3f", func(r, _ result) float64 { return r.cpu }}
	rate     = column{"requests/s", "%.0f", func(r, _ result) float64 { return r.rate }}
)

var columns = []column{
	rate,
	{"p50 ms", "%.2f", func(r, _ result) float64 { return r.p50 }},
	addedP50,
	{"added p90", "%.2f", func(r, d result) float64 { return r.p90 - d.p90 }},
	{"added p99", "%.2f", func(r, d result) float64 { return r.p99 - d.p99 }},
	cpu,
	{"memory MB", "%.0f", func(r, _ result) float64 { return r.memory }},
}

// ratios are taken inside a round, in which all were asked one after the other.
var ratios = []struct {
	column
	base string
}{
	{cpu, "plain proxy"}, {addedP50, "plain proxy"}, {rate, "plain proxy"},
	{cpu, "re-encoding proxy"}, {addedP50, "re-encoding proxy"},
}

// print writes the measurements and the ratios. The median of the rounds counts, of each figure by itself.
func (t table) print() {
	fmt.Print("\n| mode | c | gateway |")
	for _, col := range columns {
		fmt.Printf(" %s |", col.name)
	}
	fmt.Print(" errors |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	t.rows(t.targets, func(key cell) {
		for _, col := range columns {
			fmt.Printf(" %s |", text(col.format, t.median(func(i int) float64 { return t.figure(col, key, i) })))
		}
		errors := 0
		for _, r := range t.results[key] {
			errors += r.errors
		}
		fmt.Printf(" %d |", errors)
	})
	fmt.Print("\n| mode | c | gateway |")
	for _, r := range ratios {
		fmt.Printf(" %s ÷ %s |", r.name, r.base)
	}
	fmt.Print("\n|---|---|---|---|---|---|---|---|\n")
	t.rows(t.targets[1:], func(key cell) {
		for _, r := range ratios {
			fmt.Printf(" %s |", text("%.2f", t.median(func(i int) float64 { return t.ratio(r.column, key, r.base, i) })))
		}
	})
}

func (t table) rows(targets []target, rest func(cell)) {
	for _, mode := range modes {
		for _, c := range t.levels {
			for _, one := range targets {
				fmt.Printf("| %s | %s | %s |", mode, c, one.name)
				rest(cell{one.name, mode, c})
				fmt.Println()
			}
		}
	}
}

// figure is NaN where a target gave no answer.
func (t table) figure(col column, key cell, i int) float64 {
	r := t.results[key][i]
	if r.rate == 0 {
		return math.NaN()
	}
	return col.of(r, t.results[cell{"direct", key.mode, key.c}][i])
}

func (t table) ratio(col column, key cell, base string, i int) float64 {
	return t.figure(col, key, i) / t.figure(col, cell{base, key.mode, key.c}, i)
}

func (t table) median(of func(round int) float64) float64 {
	var list []float64
	for i := range t.rounds {
		if v := of(i); !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

func text(format string, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}
