package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/console/internal/html"
)

const (
	defaultPoll = 250 * time.Millisecond
	liveTime    = time.Hour        // then the page connects again
	heartbeat   = 15 * time.Second // so that proxies keep the connection
)

// live sends the entries after a number as server-sent events, each an element of the timeline, until the run is sealed.
func (p page) live(w http.ResponseWriter) error {
	name, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	after, err := strconv.ParseInt(p.URL.Query().Get("after"), 10, 64)
	if err != nil {
		return wrong("after must be the number of an entry.")
	}
	if id, err := strconv.ParseInt(p.Header.Get("Last-Event-ID"), 10, 64); err == nil && id > after {
		after = id
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	poll := p.Poll
	if poll == 0 {
		poll = defaultPoll
	}
	t := newTimeline(p.Base, name)
	ends, beat := time.Now().Add(liveTime), time.Now()
	for time.Now().Before(ends) {
		for e, err := range p.Store.Read(p.Context(), name, t.report.entries+1) {
			if err != nil {
				return nil // the page connects again
			}
			item := t.entry(e)
			if e.Seq <= after || item == "" {
				continue
			}
			if err := sendEvent(w, e.Seq, item); err != nil {
				return nil
			}
			beat = time.Now()
		}
		if t.report.sealed {
			fmt.Fprint(w, "event: end\ndata: end\n\n")
			out.Flush()
			return nil
		}
		if time.Since(beat) > heartbeat {
			fmt.Fprint(w, ": waiting\n\n")
			beat = time.Now()
		}
		if out.Flush() != nil {
			return nil
		}
		select {
		case <-p.Context().Done():
			return nil
		case <-time.After(poll):
		}
	}
	return nil
}

// sendEvent writes an element as an event. Line breaks of its text are lines of the event's data.
func sendEvent(w http.ResponseWriter, seq int64, item html.HTML) error {
	_, err := fmt.Fprintf(w, "id: %d\nevent: entry\ndata: %s\n\n", seq, strings.ReplaceAll(string(item), "\n", "\ndata: "))
	return err
}
