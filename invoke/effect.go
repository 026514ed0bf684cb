package invoke

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/pinname"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// unclearPin stands for an effect that could not be determined when a person decided.
const unclearPin = "unclear"

// bind notes in a question what its call would act on. An error explains why the call
// would fail.
func (d *batch) bind(j *job, q *Question) *tool.Error {
	bound, err := d.effect(j)
	if preview := j.tool.Preview; err == nil && preview != nil {
		var p tool.Preview
		if p, err = recovered(func() (tool.Preview, error) { return preview(d.ctx, slices.Clone(j.args)) }); err == nil {
			q.Runs = p.String()
		}
	}
	q.Bound = bound
	if err == nil {
		return nil
	}
	bound[unclearPin] = pinHash(err.Error())
	return impossible(err)
}

// effect returns what a call would act on: the promises and the source of its tool,
// and the tool's pins.
func (d *batch) effect(j *job) (map[string]journal.Hash, error) {
	t := &j.tool
	effects := t.Effects.String()
	if t.HonoursKeys {
		effects += " keys"
	}
	bound := map[string]journal.Hash{
		"effects": pinHash(effects),
		"origin":  pinHash(t.Origin.String()),
	}
	if t.SourceHash != "" {
		bound["server "+t.Source] = pinHash(t.SourceHash)
	}
	bind := t.Bind
	if preview := t.Preview; bind == nil && preview != nil {
		bind = func(ctx context.Context, args json.RawMessage) ([]tool.Pin, error) {
			p, err := preview(ctx, args)
			return p.Pins(), err
		}
	}
	if bind == nil {
		return bound, nil
	}
	pins, err := recovered(func() ([]tool.Pin, error) { return bind(d.ctx, slices.Clone(j.args)) })
	for _, p := range pins {
		bound[p.Name] = pinHash(p.Value)
	}
	return bound, err
}

// changes tells in words how the effect of a call differs from the approved one, or "".
// Folders that did not exist then do not count: the path of the file does.
func changes(approved, now map[string]journal.Hash) string {
	if len(approved) == 0 {
		return "an earlier version asked, which did not record what the call acts on"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(approved)) {
		if approved[name] != now[name] {
			words = append(words, changed(name, now[name] == ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if approved[name] == "" && !strings.HasPrefix(name, pinname.Folder) {
			words = append(words, changed(name, false))
		}
	}
	return strings.Join(slices.Compact(words), ", ")
}

// changed tells how one thing that a call acts on differs.
func changed(name string, gone bool) string {
	kind, at, _ := strings.Cut(name, " ")
	switch kind + " " {
	case pinname.Folder:
		if gone {
			return "the folder " + at + " is gone"
		}
		return "the folder " + at + " is another one"
	case pinname.Content:
		return "the content of " + at + " changed"
	case pinname.Program:
		return "the program " + at + " is not the same"
	case pinname.Path:
		if gone {
			return "the path " + at + " is not a link any more"
		}
		return "the path " + at + " leads elsewhere"
	case "server ":
		return "the server " + at + " offers other tools"
	}
	switch name {
	case pinname.Command:
		return "the command is another one"
	case pinname.Address:
		return "the address is another one"
	case pinname.File:
		return "the path leads to another file"
	case unclearPin:
		return "it is known now what the call would do"
	case "effects":
		return "the tool promises other effects"
	case "origin":
		return "the tool comes from elsewhere"
	}
	return "the " + name + " changed"
}

// impossible is the answer to a call that is known to fail. A person is not asked about it.
func impossible(err error) *tool.Error {
	known := tool.FromError(err)
	e := *known
	if e.Code == tool.NotFound || e.Code == tool.Execution {
		e.Code = tool.Validation
	}
	return &e
}

// follows reports whether an earlier call of the same answer may change things before j
// runs: what is impossible now may be possible then.
func (d *batch) follows(j *job) bool {
	for i := range d.jobs[:j.index] {
		if earlier := &d.jobs[i]; earlier.outcome == nil && !earlier.tool.Effects.Has(tool.ReadOnly) {
			return true
		}
	}
	return false
}

// stillApproved returns the calls that may run now. A call whose effect is not the
// approved one any more needs another decision.
func (d *batch) stillApproved(jobs []*job) ([]*job, error) {
	var ready []*job
	for _, j := range jobs {
		if err := d.reconsider(j); err != nil {
			return nil, err
		}
		if j.outcome == nil && !j.waits {
			ready = append(ready, j)
		}
	}
	return ready, nil
}

// maxReconsidered limits how often a person is asked again about a call.
const maxReconsidered = 3

// reconsider has a person decide again about a call that was approved, if its effect is
// another one now.
func (d *batch) reconsider(j *job) error {
	for range maxReconsidered {
		if j.bound == nil {
			return nil
		}
		now, err := d.effect(j)
		if d.ctx.Err() != nil {
			return d.reject(j, notBegun())
		}
		if err != nil {
			return d.reject(j, impossible(err))
		}
		what := changes(j.bound, now)
		if what == "" {
			return nil
		}
		q := Question{Changed: what, Repeats: j.repeats}
		q.Reason = q.Why()
		if err := d.ask(j, q); err != nil || j.outcome != nil || j.waits {
			return err
		}
	}
	return d.reject(j, tool.Errorf(tool.Permission, "what it acts on keeps changing while a person decides about it"))
}

// pinHash returns the hash of a text as the record holds it.
func pinHash(text string) journal.Hash {
	return journal.Hash(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))))
}
