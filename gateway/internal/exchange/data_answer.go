package exchange

import "github.com/toolpost/toolpost/llm"

// DataAnswer passes on an answer of a model that may have to be asked again. If the client wants data that match a
// schema, text before the data would break it. So the answer is held from its first text until the outcome is known. A
// call for the client ends the holding, because then the answer is not the data.
type DataAnswer struct {
	wanted bool // the client wants data
	each   func(llm.Event) error
	held   []llm.Event
}

// NewDataAnswer returns an answer that is passed to each. Wanted reports whether the client wants data.
func NewDataAnswer(wanted bool, each func(llm.Event) error) DataAnswer {
	return DataAnswer{wanted: wanted, each: each}
}

// Show passes an event to the client, or holds it.
func (d *DataAnswer) Show(ev llm.Event) error {
	if !d.wanted {
		return d.each(ev)
	}
	_, text := ev.(llm.TextDelta)
	if c, ok := ev.(llm.Call); ok && !c.Hosted { // a call that the vendor ran is a step towards the data
		d.wanted = false
		if err := d.Release(true); err != nil {
			return err
		}
	}
	if d.wanted && (text || len(d.held) > 0) {
		d.held = append(d.held, ev)
		return nil
	}
	return d.each(ev)
}

// Release passes on the held events. The text is dropped if the model is asked again.
func (d *DataAnswer) Release(text bool) error {
	held := d.held
	d.held = nil
	left := false // a text was dropped, so its end is dropped too
	for _, ev := range held {
		_, ends := ev.(llm.PartEnd)
		if _, is := ev.(llm.TextDelta); !text && (is || left && ends) {
			left = is
			continue
		}
		if _, aside := ev.(llm.Warning); !aside {
			left = false
		}
		if err := d.each(ev); err != nil {
			return err
		}
	}
	return nil
}
