package llm

import "strconv"

// CallIDs makes all call ids. It keeps the id that a call came with if no
// earlier call has the same id. It numbers the other calls call_1, call_2 and
// so on. Ids are therefore unique within a conversation. CallIDs does not know
// which ids a vendor accepts. A codec translates them to the vendor's rules
// when it sends a request; the conversation keeps the ids made here.
//
// The zero value is ready to use. Assigning an older copy back releases the ids
// that were given since; a newer copy must not be used after that. It is not
// safe for concurrent use.
type CallIDs struct {
	// After is the number of earlier calls in the conversation. Numbers
	// continue from there, which keeps the ids of an answer different from
	// earlier ones.
	After int
	// Prefix precedes the number; empty means "call_".
	Prefix string
	// New makes ids instead of the numbers. If it returns an empty id or a
	// duplicate, the call gets a number.
	New func() string
	// Known reports ids that are taken in addition to the ids given here, such
	// as the ids in a record. Nil knows none.
	Known func(id string) bool

	made  int      // numbers used
	given []string // ids that are taken, in order
	// place is the index of an id in given, counted from 1. It may be out of
	// date if ids were released; given decides.
	place map[string]int
}

// Taken reports whether a call has the id.
func (c *CallIDs) Taken(id string) bool {
	return c.has(id) || c.Known != nil && c.Known(id)
}

func (c *CallIDs) has(id string) bool {
	at := c.place[id]
	return at > 0 && at <= len(c.given) && c.given[at-1] == id
}

// Take returns the id of the next call: the one it came with, unless that is
// empty or taken.
func (c *CallIDs) Take(id string) string {
	if id == "" || c.Taken(id) {
		id = c.fresh()
	}
	c.add(id)
	return id
}

// Use takes an id without a change.
func (c *CallIDs) Use(id string) {
	if !c.has(id) {
		c.add(id)
	}
}

// add takes an id that is not taken.
func (c *CallIDs) add(id string) {
	if c.place == nil {
		c.place = make(map[string]int)
	}
	c.given = append(c.given, id)
	c.place[id] = len(c.given)
}

// Forget frees the memory of an id that Known knows from now on. Older copies
// must not be assigned back after it.
func (c *CallIDs) Forget(id string) {
	at := c.place[id]
	if at == 0 {
		return
	}
	delete(c.place, id)
	if at > len(c.given) || c.given[at-1] != id {
		return
	}
	c.given[at-1] = ""
	for n := len(c.given); n > 0 && c.given[n-1] == ""; n-- { // the place may be used again
		c.given = c.given[:n-1]
	}
}

// fresh returns an id that no call has.
func (c *CallIDs) fresh() string {
	if c.New != nil {
		if id := c.New(); id != "" && !c.Taken(id) {
			return id
		}
	}
	for {
		c.made++
		if id := c.number(c.After + c.made); !c.Taken(id) {
			return id
		}
	}
}

func (c *CallIDs) number(n int) string {
	var space [32]byte
	prefix := c.Prefix
	if prefix == "" {
		prefix = "call_"
	}
	return string(strconv.AppendInt(append(space[:0], prefix...), int64(n), 10))
}
