package engine

// reader is one way to read what stands at a spot S. Readers stand in a list in
// the order in which they are asked: the first that fits reads, and what it
// reports counts. To read something new, add a reader to one of the lists.
type reader[S any] struct {
	name string
	// fits looks at what stands here. It reads nothing.
	fits func(m *machine, s S) bool
	// read reads it and reports whether it was what it looked like. If not,
	// nothing was read.
	read func(m *machine, s S) bool
	// yields says that the next reader that fits is asked if read reports
	// false.
	yields bool
}

// ask has the first reader that fits read what stands at s. It reports whether
// something was read, and whether any reader had the last word.
func ask[S any](m *machine, list []reader[S], s S) (read, decided bool) {
	for i := range list {
		r := &list[i]
		if !r.fits(m, s) {
			continue
		}
		if r.read(m, s) {
			return true, true
		}
		if !r.yields {
			return false, true
		}
	}
	return false, false
}

// spot is what stands at the next byte: a marker of n bytes, if there is one.
// What may be a call began at start.
type spot struct {
	tok   *token
	n     int
	c     byte
	start int
}

// readers are the lists of readers, by the place where they are asked.
type readers struct {
	early  []reader[spot]   // in text, wherever a marker stands
	text   []reader[spot]   // in text, where the marker may stand
	forms  []reader[spot]   // where a call may stand: by its form
	named  []reader[named]  // behind the name of a call
	member []reader[member] // behind a key of an object that may be a call
}

func newReaders() readers {
	return readers{early: earlyReaders(), text: textReaders(), forms: formReaders(), named: namedReaders(), member: memberReaders()}
}
