package engine

import "bytes"

// entities reads the entities of XML in text that arrives in pieces. Text that
// also holds a tag is no XML but a document that was quoted as it is: then its
// entities stay. Whether it does is known at its end only, so that what follows
// the first entity is held.
type entities struct {
	add    func([]byte)
	off    bool   // the text stays as it is
	held   []byte // from the first entity on
	tagged bool   // the text holds a tag
}

// take takes the next bytes.
func (e *entities) take(p []byte) {
	e.tagged = e.tagged || bytes.IndexByte(p, '<') >= 0
	if e.off || e.tagged {
		e.release()
		e.add(p)
		return
	}
	if len(e.held) == 0 {
		i := bytes.IndexByte(p, '&')
		if i < 0 {
			e.add(p)
			return
		}
		e.add(p[:i])
		p = p[i:]
	}
	if e.held = append(e.held, p...); !mayBeEntity(e.held) {
		e.release()
	}
}

// release passes on what was held as it is, up to the next sign that may begin
// an entity.
func (e *entities) release() {
	for len(e.held) > 0 {
		n := len(e.held)
		if i := bytes.IndexByte(e.held[1:], '&'); i >= 0 {
			n = i + 1
		}
		e.add(e.held[:n])
		if e.held = e.held[n:]; !e.tagged && len(e.held) > 0 && mayBeEntity(e.held) {
			return
		}
	}
}

// close ends the text. It reports whether there were entities.
func (e *entities) close() bool {
	if len(e.held) == 0 {
		return false
	}
	plain := unescapeXML(string(e.held))
	changed := plain != string(e.held)
	e.add([]byte(plain))
	e.held = nil
	return changed
}

// mayBeEntity reports whether p, which begins with an ampersand, begins with an
// entity, or may.
func mayBeEntity(p []byte) bool {
	for _, name := range [...]string{"&quot;", "&apos;", "&lt;", "&gt;", "&amp;"} {
		if hasOverlap(p, name) {
			return true
		}
	}
	return false
}
