package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Limits of lessons.
const (
	maxTasks   = 30  // kept per tool
	maxTask    = 200 // characters of one of them
	maxLessons = 4 << 20
	minOutcome = 20 // calls on each side before two styles or numbers of tools are compared
)

// offerSizes are the numbers of offered tools that are compared.
var offerSizes = []int{8, 16, 32}

// Lesson is what recorded outcomes say about the calls of a model. Each part was learned on half of the runs and held on
// the other half. No part hides a tool: tools that are not offered are found with find_tools.
type Lesson struct {
	Model string    `json:"model"`
	At    time.Time `json:"at"`
	Runs  int       `json:"runs"`
	// Style is the notation in which calls are right more often than in the others, "" if none was shown to be.
	Style string `json:"style,omitempty"`
	// Tools is the number of tools to offer, 0 for the usual number.
	Tools int `json:"tools,omitempty"`
	// Solved are tasks that tools solved, by the name of the tool. Tools that solved tasks like the present one come first.
	Solved map[string][]string `json:"solved,omitempty"`
	// Why explains each part in a sentence, also those that were not adopted.
	Why []string `json:"why"`
}

// Empty reports whether nothing is adjusted.
func (l *Lesson) Empty() bool { return l.Style == "" && l.Tools == 0 && len(l.Solved) == 0 }

// Preferred returns the tools that solved tasks like a new one, the best first, at most n of them.
func (l *Lesson) Preferred(task string, n int) []string {
	if len(l.Solved) == 0 || n <= 0 {
		return nil
	}
	defs := make([]llm.ToolDef, 0, len(l.Solved))
	for _, name := range slices.Sorted(maps.Keys(l.Solved)) {
		text := ""
		for _, t := range l.Solved[name] {
			text += t + "\n"
		}
		defs = append(defs, llm.ToolDef{Name: name, Description: text})
	}
	var out []string
	for _, r := range tool.NewRanker(defs).Rank(clip.Line(task, maxTask)) {
		if r.Score <= 0 || len(out) == n {
			break
		}
		out = append(out, r.Name)
	}
	return out
}

// Offer returns a selection with what was learned: fewer tools if that was better, and the preferred tools, which take at
// most a quarter of the room.
func (l *Lesson) Offer(task string, s tool.Selection) tool.Selection {
	if l.Tools > 0 && (s.Tools <= 0 || l.Tools < s.Tools) {
		s.Tools = l.Tools
	}
	s.Pinned = append(slices.Clone(s.Pinned), l.Preferred(task, max(1, s.Tools/4))...)
	return s
}

// example is one recorded run of a model.
type example struct {
	task    string
	solved  []string // tools whose calls succeeded, in order
	right   int      // calls that ran at the first attempt
	wrong   int      // calls that were invalid, or refused by the schema
	style   string   // of its calls in text
	offered int
	held    bool // it is in the half that checks
}

// Learn learns from the outcomes in recorded runs, a lesson per model.
func Learn(ctx context.Context, store journal.Store, runs []string) ([]Lesson, error) {
	examples := make(map[string][]example)
	defs := make(map[string]map[string]llm.ToolDef) // by model and name
	for _, run := range runs {
		if err := readExample(ctx, store, run, examples, defs); err != nil {
			return nil, fmt.Errorf("eval: %s: %w", run, err)
		}
	}
	var out []Lesson
	for _, model := range slices.Sorted(maps.Keys(examples)) {
		l := Lesson{Model: model, At: time.Now().UTC().Truncate(time.Second), Runs: len(examples[model])}
		l.learnStyle(examples[model])
		l.learnNumber(examples[model])
		l.learnRanking(examples[model], defs[model])
		out = append(out, l)
	}
	return out, nil
}

// readExample reads a run into the examples of its model.
func readExample(ctx context.Context, store journal.Store, run string, examples map[string][]example, defs map[string]map[string]llm.ToolDef) error {
	h := fnv.New32a()
	_, _ = io.WriteString(h, run)
	x := example{held: h.Sum32()%2 == 1}
	model := ""
	for e, err := range journal.Whole(store.Read(ctx, run, 1)) {
		if err != nil {
			return err
		}
		switch e.Kind {
		case KindPlan:
			return nil
		case journal.KindStart:
			var s journal.Start
			if err := json.Unmarshal(e.Body, &s); err != nil {
				return err
			}
			model, x.task = s.Model, s.Task
		case journal.KindRequest:
			var r struct {
				Tools []llm.ToolDef `json:"tools"`
			}
			if err := json.Unmarshal(e.Body, &r); err != nil {
				return err
			}
			if x.offered == 0 {
				x.offered = len(r.Tools)
			}
			for _, d := range r.Tools {
				if defs[model] == nil {
					defs[model] = make(map[string]llm.ToolDef)
				}
				defs[model][d.Name] = d
			}
		case journal.KindAnswer:
			var a journal.Answer
			if err := json.Unmarshal(e.Body, &a); err != nil {
				return err
			}
			x.wrong += len(a.Invalid)
			for _, c := range a.Message.Calls() {
				x.style = cmp.Or(x.style, c.Provenance.Dialect)
			}
			for _, c := range a.Invalid {
				x.style = cmp.Or(x.style, c.Provenance.Dialect)
			}
		case journal.KindOutcome:
			var o journal.OutcomeRecord
			if err := json.Unmarshal(e.Body, &o); err != nil {
				return err
			}
			x.outcome(&o)
		}
	}
	if model != "" && x.right+x.wrong > 0 {
		examples[model] = append(examples[model], x)
	}
	return nil
}

func (x *example) outcome(o *journal.OutcomeRecord) {
	switch {
	case o.Tool == tool.FinderName:
	case o.Success:
		x.right++
		if x.task == "" {
			x.task = o.Task
		}
		if !slices.Contains(x.solved, o.Tool) {
			x.solved = append(x.solved, o.Tool)
		}
	case o.Code == string(tool.Validation) || o.Code == string(tool.NotFound):
		x.wrong++
	}
}

// share counts the right calls of the examples of one half that fit.
func share(list []example, held bool, fits func(*example) bool) Interval {
	right, all := 0, 0
	for i := range list {
		if x := &list[i]; x.held == held && fits(x) {
			right += x.right
			all += x.right + x.wrong
		}
	}
	return Wilson(right, all)
}

// clearly reports whether a is better than b by more than chance: their intervals do not overlap.
func clearly(a, b Interval) bool { return a.Of >= minOutcome && b.Of >= minOutcome && a.Low > b.High }

func (l *Lesson) learnStyle(list []example) {
	styles := make(map[string]bool)
	for i := range list {
		if list[i].style != "" {
			styles[list[i].style] = true
		}
	}
	if len(styles) < 2 {
		l.Why = append(l.Why, fmt.Sprintf("style: the runs have %d notations, and two are needed for a comparison", len(styles)))
		return
	}
	of := func(style string, held bool) Interval {
		return share(list, held, func(x *example) bool { return x.style == style })
	}
	names := slices.Sorted(maps.Keys(styles))
	best := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(of(a, false).Low, of(b, false).Low) })
	for _, other := range names {
		if other == best {
			continue
		}
		a, b := of(best, true), of(other, true)
		if !clearly(of(best, false), of(other, false)) || !clearly(a, b) {
			l.Why = append(l.Why, fmt.Sprintf("style: no difference can be shown between %s, %s, and %s, %s, on the other half", best, a, other, b))
			return
		}
		l.Why = append(l.Why, fmt.Sprintf("style: calls in %s are right in %s, in %s in %s, on the other half", best, a, other, b))
	}
	l.Style = best
}

func (l *Lesson) learnNumber(list []example) {
	for _, size := range offerSizes {
		few := func(x *example) bool { return x.offered > 0 && x.offered <= size }
		many := func(x *example) bool { return x.offered > size }
		if !clearly(share(list, false, few), share(list, false, many)) {
			continue
		}
		if a, b := share(list, true, few), share(list, true, many); clearly(a, b) {
			l.Tools = size
			l.Why = append(l.Why, fmt.Sprintf("number of tools: with up to %d offered, calls are right in %s, with more in %s, on the other half", size, a, b))
			return
		}
	}
	l.Why = append(l.Why, "number of tools: no difference can be shown between few and many")
}

// learnRanking keeps the tasks that tools solved, if that finds the tool of a task among the first quarter of the tools
// more often than the ranking by descriptions alone, on the other half of the runs.
func (l *Lesson) learnRanking(list []example, known map[string]llm.ToolDef) {
	solved := make(map[string][]string)
	for i := range list {
		x := &list[i]
		if x.held || x.task == "" {
			continue
		}
		task := clip.Line(x.task, maxTask)
		for _, name := range x.solved {
			if !slices.Contains(solved[name], task) {
				solved[name] = append(solved[name], task)
			}
		}
	}
	for name, tasks := range solved { // the newest are the last
		solved[name] = tasks[max(0, len(tasks)-maxTasks):]
	}
	defs := make([]llm.ToolDef, 0, len(known))
	for _, name := range slices.Sorted(maps.Keys(known)) {
		defs = append(defs, known[name])
	}
	candidate := Lesson{Solved: solved}
	ranker := tool.NewRanker(defs)
	room := tool.Selection{Tools: max(4, len(defs)/4)}
	finds := func(s tool.Selection, x *example) bool {
		kept, _ := ranker.Select(x.task, s)
		return slices.ContainsFunc(kept, func(i int) bool { return defs[i].Name == x.solved[0] })
	}
	var before, after count
	lost, won := 0, 0
	for i := range list {
		x := &list[i]
		if !x.held || x.task == "" || len(x.solved) == 0 || len(defs) <= room.Tools {
			continue
		}
		was, is := finds(room, x), finds(candidate.Offer(x.task, room), x)
		before.add(was)
		after.add(is)
		switch {
		case was && !is:
			lost++
		case is && !was:
			won++
		}
	}
	p := McNemar(lost, won)
	why := fmt.Sprintf("ranking: the tool of a task is among the first %d of %d tools in %s, before %s, on the other half, p = %.3f", room.Tools, len(defs), after.interval(), before.interval(), p)
	if won <= lost || p >= 0.05 {
		l.Why = append(l.Why, why+"; not adopted")
		return
	}
	l.Solved = solved
	l.Why = append(l.Why, why)
}

// LessonsFile is the name of the user's file of lessons, in the folder of models.yaml.
const LessonsFile = "lessons.json"

// Lessons are the lessons of a file, by model.
type Lessons map[string]Lesson

// ReadLessons reads a file of lessons. A file that does not exist has none.
func ReadLessons(file string) (Lessons, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Lessons{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLessons+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxLessons {
		return nil, fmt.Errorf("%s: more than %d bytes", file, maxLessons)
	}
	out := Lessons{}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%s is not a file of lessons; 'toolpost eval learn --reset' removes it: %w", file, err)
	}
	return out, nil
}

// Write replaces a file of lessons at once. Without a lesson, the file goes.
func (l Lessons) Write(file string) error {
	if len(l) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	if len(text) > maxLessons {
		return fmt.Errorf("the lessons have %d bytes, and the limit is %d", len(text), maxLessons)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".lessons-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails harmlessly after the rename
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// Lines are the adjustments and their reasons, for people.
func (l *Lesson) Lines() []string {
	var out []string
	if l.Style != "" {
		out = append(out, "tools are taught as "+l.Style)
	}
	if l.Tools > 0 {
		out = append(out, fmt.Sprintf("up to %d tools are offered at a time", l.Tools))
	}
	if n := len(l.Solved); n > 0 {
		out = append(out, fmt.Sprintf("%d tools come first for tasks like those they solved", n))
	}
	if l.Empty() {
		out = append(out, "nothing is adjusted")
	}
	return append(out, l.Why...)
}
