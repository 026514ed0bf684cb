package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// The ways in which a server of a plan writes calls.
const (
	idFirst = iota
	idInEach
	idLate
	idNever
	idWays
)

const (
	indexCounted = iota
	indexZero    // of all calls
	indexNever
	indexWays
)

const (
	nameWhole = iota
	nameInPieces
	nameSoFar
	nameInEach
	nameWays
)

// callPlan is how a server writes the calls of an answer. Its calls are the same however it does.
type callPlan struct {
	tools             []string
	calls             [][3]string // id, name and arguments
	ids, index, names int
	argsFirst         bool // the first arguments come before the name
	interleaved       bool
	text              bool // something is said between the pieces
}

func (p *callPlan) String() string {
	return fmt.Sprintf("tools %q, ids %d, index %d, names %d, arguments first %v, interleaved %v, text %v", p.tools, p.ids, p.index, p.names, p.argsFirst, p.interleaved, p.text)
}

// newPlan draws a plan that a client can follow: pieces of calls that are written side by side, or of which the arguments come first, say whose they are,
// and a name so far is told from the name of another call.
func newPlan(r *rand.Rand) *callPlan {
	sets := [][]string{{"get_weather", "get_time", "read_file"}, {"get", "get_weather", "read", "read_file", "get_weather_now"}}
	begins := r.IntN(2)
	p := &callPlan{tools: sets[begins], ids: r.IntN(idWays), index: r.IntN(indexWays), names: r.IntN(nameWays), text: r.IntN(4) == 0}
	for i := range 1 + r.IntN(4) {
		args := []string{`{}`, `{"a":1}`, fmt.Sprintf(`{"city":"Rome","n":[1,%d]}`, i), `{"a":{"b":"}{"}}`}[r.IntN(4)]
		p.calls = append(p.calls, [3]string{fmt.Sprintf("c%d", i), p.tools[r.IntN(len(p.tools))], args})
	}
	if attributed := p.index == indexCounted || p.ids == idInEach; attributed {
		p.argsFirst, p.interleaved = r.IntN(3) == 0, r.IntN(2) == 0
	}
	if !p.argsFirst && (p.index == indexCounted || p.ids == idFirst || p.ids == idInEach) { // so that the next call is known to be one
		for i := range p.calls {
			if r.IntN(8) == 0 {
				p.calls[i][2] = ""
			}
		}
	}
	if p.argsFirst && (p.index == indexZero || p.ids != idFirst && p.ids != idInEach) {
		p.interleaved = false // some servers count badly or make up an id for each piece, so such arguments without a name are the last call's while that is open
	}
	if begins == 1 && p.names == nameSoFar && p.ids != idFirst && p.ids != idInEach {
		p.names = nameInPieces
	}
	return p
}

// cut cuts a string into one to n pieces, none of them empty.
func cut(r *rand.Rand, s string, n int) (out []string) {
	for n > 1 && len(s) > 1 && r.IntN(3) > 0 {
		at := 1 + r.IntN(len(s)-1)
		out, s = append(out, s[:at]), s[at:]
		n--
	}
	return append(out, s)
}

// planPiece is a piece of a call, as far as it says something.
type planPiece struct{ id, name, args string }

// pieces are those of one call, in order.
func (p *callPlan) pieces(r *rand.Rand, call [3]string) []planPiece {
	var names, args []planPiece
	whole := []string{call[1]}
	if p.names == nameInPieces || p.names == nameSoFar {
		whole = cut(r, call[1], 3)
	}
	for i, s := range whole {
		if p.names == nameSoFar {
			s = strings.Join(whole[:i+1], "")
		}
		names = append(names, planPiece{name: s})
	}
	for _, s := range cut(r, call[2], 4) {
		args = append(args, planPiece{args: s})
	}
	out := slices.Concat(names, args)
	switch {
	case p.argsFirst:
		n := 1 + r.IntN(len(args))
		out = slices.Concat(args[:n], names, args[n:])
	case r.IntN(2) == 0: // the last of the name with the first arguments
		out = slices.Delete(out, len(names)-1, len(names))
		out[len(names)-1].name = names[len(names)-1].name
	}
	late := r.IntN(len(out))
	for i := range out {
		if p.ids == idInEach || p.ids == idFirst && i == 0 || p.ids == idLate && i == late {
			out[i].id = call[0]
		}
		if p.names == nameInEach && (!p.argsFirst || out[i].name != "") {
			out[i].name = call[1]
		}
	}
	return out
}

// stream is the answer as the server writes it. Calls begin in their order.
func (p *callPlan) stream(r *rand.Rand) (stream, text string) {
	var left [][]planPiece
	for _, call := range p.calls {
		left = append(left, p.pieces(r, call))
	}
	var out strings.Builder
	out.WriteString(chunkOf(`{"role":"assistant","content":null}`))
	begun := 0
	for {
		var open []int
		for i := range min(begun+1, len(left)) {
			if len(left[i]) > 0 {
				open = append(open, i)
			}
		}
		if len(open) == 0 {
			break
		}
		i := open[0]
		if p.interleaved {
			i = open[r.IntN(len(open))]
		}
		begun = max(begun, i+1)
		out.WriteString(p.chunk(i, left[i][0]))
		left[i] = left[i][1:]
		if p.text && r.IntN(4) == 0 {
			out.WriteString(chunkOf(`{"content":"hm"}`))
			text += "hm"
		}
	}
	return out.String() + chunksEnd, text
}

// chunk writes a piece of a call.
func (p *callPlan) chunk(i int, piece planPiece) string {
	members := []string{}
	switch p.index {
	case indexCounted:
		members = append(members, fmt.Sprintf(`"index":%d`, i))
	case indexZero:
		members = append(members, `"index":0`)
	}
	if piece.id != "" {
		members = append(members, fmt.Sprintf(`"id":%q,"type":"function"`, piece.id))
	}
	function := []string{}
	if piece.name != "" {
		function = append(function, fmt.Sprintf(`"name":%q`, piece.name))
	}
	if piece.args != "" || len(piece.name)%2 == 0 {
		function = append(function, fmt.Sprintf(`"arguments":%q`, piece.args))
	}
	members = append(members, `"function":{`+strings.Join(function, ",")+`}`)
	return chunkOf(`{"tool_calls":[{` + strings.Join(members, ",") + `}]}`)
}

// document is the answer in one piece.
func (p *callPlan) document() string {
	var calls []string
	for _, c := range p.calls {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, c[0], c[1], c[2]))
	}
	return `{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":"tool_calls"}]}`
}

// plans is how many are tried.
const plans = 4000

// TestPlansOfCalls: however a server cuts its calls, names and ids, and whatever it leaves out, the calls are those of the answer in one piece, for who reads them and for the
// client of a relay.
func TestPlansOfCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 2))
	failed := 0
	for range plans {
		p := newPlan(r)
		stream, text := p.stream(r)
		c := offering(p.tools...)
		want := callsIn(build(t, c, p.document()))
		answer := build(t, c, stream)
		var out bytes.Buffer
		if err := c.Relay(&out, iotest.HalfReader(strings.NewReader(stream)), nil); err != nil {
			t.Fatal(err)
		}
		got, relayed := callsIn(answer), strings.ReplaceAll(addedUp(out.String()), " ]", " {}]")
		if p.ids == idLate || p.ids == idNever { // a call that had to begin before its id has another
			want, got, relayed = namesAndArgs(want), namesAndArgs(got), namesAndArgs(relayed)
		}
		if got == want && relayed == want && answer.Message.Text() == text && build(t, Codec{Format: Chat}, out.String()).Message.Text() == text {
			continue
		}
		t.Errorf("%v: the calls are\n%s, the client of a relay has\n%s, not\n%s, the text is %q, not %q, from\n%s", p, got, relayed, want, answer.Message.Text(), text, stream)
		if failed++; failed == 5 {
			t.FailNow()
		}
	}
}

// namesAndArgs leaves the ids out of what callsIn returns.
func namesAndArgs(calls string) string {
	parts := strings.Split(calls, "] [")
	for i, s := range parts {
		_, parts[i], _ = strings.Cut(s, " ")
	}
	return strings.Join(parts, "] [")
}
