package engine

// input is the answer as far as it has arrived. Readers look ahead in it as far
// as they like: where there is nothing yet, they wait.
type input struct {
	lex   *Lexicon
	buf   []byte
	pos   int    // the next byte to read
	base  int    // offset of buf[0] in the answer
	chunk string // the last one, and buf ends with it; see prosaic
	eof   bool
	// broken says that what ends is not the answer, but a stretch of its text; see Feed.Break.
	broken bool
	err    error // of the chunks, or our own
	stop   bool  // the consumer has gone, or a limit was passed

	starved bool                // a reader has asked for more than there is
	letGo   func()              // called before waiting: what is certain leaves
	wait    func(struct{}) bool // lets the pump go on; reports whether the consumer is still there
	flow    func() bool         // what to do with the next chunk before waking the readers
	direct  bool                // what the flow reads can go at once
	prose   bool                // it can, and is text that only markers end
}

// more reports whether there is another byte to read, waiting for it if need
// be.
func (in *input) more() bool { return in.pos < len(in.buf) || in.fill() }

// peek returns the i-th byte from here, or 0 at the end.
func (in *input) peek(i int) byte {
	for in.pos+i >= len(in.buf) {
		if !in.fill() {
			return 0
		}
	}
	return in.buf[in.pos+i]
}

// at reports whether there is an i-th byte from here.
func (in *input) at(i int) bool {
	for in.pos+i >= len(in.buf) {
		if !in.fill() {
			return false
		}
	}
	return true
}

// offset is where the next byte stands in the answer.
func (in *input) offset() int { return in.base + in.pos }

// fill lets go of what is certain and waits for the next chunk. It reports
// whether there is one.
func (in *input) fill() bool {
	if !in.eof && !in.stop {
		in.letGo()
		if !in.wait(struct{}{}) {
			in.stop = true
		}
	}
	in.starved = in.eof || in.stop
	return !in.starved
}
