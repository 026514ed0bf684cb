package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/dialect"
)

// nativeName is the behaviour of a model that delivers calls as its vendor does.
const nativeName = "native"

// behaviour is how a simulated model answers, read from its name; see [CheckModel].
type behaviour struct {
	// Dialect is the dialect calls are written in; empty means calls as the vendor delivers them.
	Dialect string

	Status       int           // answer with this HTTP status
	RetryAfter   time.Duration // with Status
	NoTools      bool          // refuse requests with tools, in the words of a vendor
	Times        int           // faults happen this often, then never again; 0 means always
	Cut          int           // end the body after this many bytes; 0 means never
	Stall        time.Duration // wait before the first byte
	SlowArgs     time.Duration // wait before each piece of arguments
	Garbage      bool          // put a line of nonsense into the body
	WrongIndex   bool          // give every parallel call the index of the first
	WrongFinish  bool          // send "stop" after calls, and "tool_calls" after text
	Length       bool          // cut the answer off in the middle, as max_tokens does
	IgnoreChoice bool          // decide as if the request had no tool choice
	Think        bool          // think before the answer, and refuse changed thinking
	ThinkCall    bool          // write calls into thinking
	Huge         int           // send this many more bytes
	Strict       bool          // refuse requests that the vendor's documentation forbids; see VendorRules
	Seed         int           // cut the stream into pieces by this seed; 0 means by words
	Slow         time.Duration // wait before each piece of a stream
	Fail         int           // end the stream with an error after this many pieces; 0 means never
	Echo         bool          // describe the request
	Recall       bool          // answer from the content of the request; see Recall
	Taught       bool          // refuse tools, and call the tools that the prompt teaches
	Window       int           // refuse requests of more tokens; 0 means none

	server *server       // the server that a strict model stands behind; nil means that of the format's maker
	plays  catalog.Model // the model that a strict one plays
}

// Misbehaviour is one thing a simulated model can do wrong.
type Misbehaviour struct {
	Name string `json:"name"` // the spelling in a model name
	Help string `json:"help"`
	set  func(b *behaviour, value string) error
}

// Faults lists the faults that can be added to the name of a model, with "+".
func Faults() []Misbehaviour { return slices.Clone(faults) }

var faults = []Misbehaviour{
	{"429", "answer HTTP 429; 429=2s also sends Retry-After", func(b *behaviour, v string) error {
		b.Status = 429
		return duration(&b.RetryAfter, v, 0)
	}},
	{"500", "answer HTTP 500", func(b *behaviour, v string) error { b.Status = 500; return none(v) }},
	{"503", "answer HTTP 503", func(b *behaviour, v string) error { b.Status = 503; return none(v) }},
	{"401", "answer HTTP 401", func(b *behaviour, v string) error { b.Status = 401; return none(v) }},
	{"no-tools", "refuse requests with tools: does not support tools", func(b *behaviour, v string) error { b.NoTools = true; return none(v) }},
	{"times", "times=2: the faults happen to the first two requests only", func(b *behaviour, v string) error { return count(&b.Times, v) }},
	{"cut", "cut=300: the body ends after 300 bytes", func(b *behaviour, v string) error { return count(&b.Cut, v) }},
	{"stall", "stall=5s: nothing comes for that long", func(b *behaviour, v string) error { return duration(&b.Stall, v, time.Hour) }},
	{"slow-args", "slow-args=20ms: a pause before each piece of arguments", func(b *behaviour, v string) error { return duration(&b.SlowArgs, v, 20*time.Millisecond) }},
	{"slow", "slow=20ms: a pause before each piece of a stream", func(b *behaviour, v string) error { return duration(&b.Slow, v, 20*time.Millisecond) }},
	{"fail", "fail=5: the stream ends after five pieces with an error in the vendor's own form", func(b *behaviour, v string) error { return count(&b.Fail, v) }},
	{"garbage", "a line of nonsense in the middle of the body", func(b *behaviour, v string) error { b.Garbage = true; return none(v) }},
	{"wrong-index", "parallel calls all have the index of the first", func(b *behaviour, v string) error { b.WrongIndex = true; return none(v) }},
	{"wrong-finish", "the finish reason contradicts the answer", func(b *behaviour, v string) error { b.WrongFinish = true; return none(v) }},
	{"think", "thinking before the answer, signed as the vendor signs it; it must come back unchanged", func(b *behaviour, v string) error { b.Think = true; return none(v) }},
	{"strict", "refuse what the vendor's documentation forbids, in the vendor's words; strict=MODEL by the rules for that model, strict=SERVER or strict=SERVER/MODEL by those of a server like vllm or mistral", func(b *behaviour, v string) error {
		b.Strict = true
		b.server, b.plays = serverOf(v)
		return nil
	}},
	{"window", "window=8000: a request of more tokens is refused as too long, in the vendor's words", func(b *behaviour, v string) error { return count(&b.Window, v) }},
	{"length", "the answer is cut off in the middle, as by max_tokens", func(b *behaviour, v string) error { b.Length = true; return none(v) }},
	{"ignore-choice", "the tool choice is ignored", func(b *behaviour, v string) error { b.IgnoreChoice = true; return none(v) }},
	{"think-call", "calls are written into thinking", func(b *behaviour, v string) error { b.ThinkCall = true; return none(v) }},
	{"huge", "huge=1000000: that many bytes of text before the answer", func(b *behaviour, v string) error { return count(&b.Huge, v) }},
	{"seed", "seed=7: the stream is cut into random pieces, the same for the same seed", func(b *behaviour, v string) error { return count(&b.Seed, v) }},
}

func none(v string) error {
	if v != "" {
		return fmt.Errorf("it takes no value, and got %q", v)
	}
	return nil
}

// maxCount limits the numbers in a model name: 256 MiB of text is enough.
const maxCount = 256 << 20

func count(n *int, v string) error {
	i, err := strconv.Atoi(v)
	if err != nil || i < 1 || i > maxCount {
		return fmt.Errorf("it takes a number from 1 to %d, and got %q", maxCount, v)
	}
	*n = i
	return nil
}

func duration(d *time.Duration, v string, def time.Duration) error {
	if v == "" {
		*d = def
		return nil
	}
	p, err := time.ParseDuration(v)
	if err != nil || p < 0 {
		return fmt.Errorf("it takes a duration like 2s, and got %q", v)
	}
	*d = p
	return nil
}

// CheckModel returns the problem of the name of a simulated model, nil if there is none. The name is how the model
// answers:
//
//	sim/native                calls in the vendor's form
//	sim/hermes_json           calls as text in a dialect
//	sim/echo                  no calls: the answer describes the request
//	sim/recall                knows only the content of its request
//	sim/taught                refuses tools; calls the tools in its prompt, as text
//	sim/native+429=2s+times=1 with faults; see Faults
func CheckModel(name string) error {
	_, err := parseBehaviour(name)
	return err
}

// parseBehaviour reads the name of a simulated model. The prefix "sim/" may be
// left out.
func parseBehaviour(model string) (behaviour, error) {
	var b behaviour
	spec := strings.TrimPrefix(strings.TrimPrefix(model, "models/"), "sim/")
	base, rest, more := strings.Cut(spec, "+")
	switch base {
	case nativeName:
	case echoName:
		b.Echo = true
	case recallName:
		b.Recall = true
	case taughtName:
		b.Taught, b.NoTools, b.Dialect = true, true, taughtDialect
	default:
		if _, ok := dialect.Builtin().Lookup(base); !ok {
			return b, fmt.Errorf("sim: no model is called %q: use sim/native or sim/ and the name of a dialect, like sim/hermes_json", model)
		}
		b.Dialect = base
	}
	for more {
		var one string
		one, rest, more = strings.Cut(rest, "+")
		name, value, _ := strings.Cut(one, "=")
		i := slices.IndexFunc(faults, func(f Misbehaviour) bool { return f.Name == name })
		if i < 0 {
			return b, fmt.Errorf("sim: model %q: no fault is called %q; there are %s", model, name, faultNames())
		}
		if err := faults[i].set(&b, value); err != nil {
			return b, fmt.Errorf("sim: model %q: fault %s: %w", model, name, err)
		}
	}
	return b, nil
}

func faultNames() string {
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// healed returns b without its faults.
func (b behaviour) healed() behaviour {
	return behaviour{Dialect: b.Dialect, Echo: b.Echo, Recall: b.Recall, Taught: b.Taught, NoTools: b.Taught, Window: b.Window, Seed: b.Seed, Strict: b.Strict, server: b.server, plays: b.plays}
}
