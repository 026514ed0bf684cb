package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/console/internal/html"
)

// setHeaders lets a page load only its own files, and keeps it out of frames and caches.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
}

// knownHost reports whether the console answers for a Host header. A name that an attacker's server resolves to a loopback
// address is not known.
func (c *Console) knownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" {
		return true
	}
	if a, err := netip.ParseAddr(name); err == nil && a.Unmap().IsLoopback() {
		return true
	}
	return slices.ContainsFunc(c.Hosts, func(h string) bool { return strings.EqualFold(h, host) || strings.EqualFold(h, name) })
}

// sameOrigin reports whether a request that changes something came from a page of this server. A request without an
// origin is refused too: every browser sends one with a form.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	_, host, found := strings.Cut(r.Header.Get("Origin"), "://")
	return found && strings.EqualFold(host, r.Host)
}

// cookieName is the name of the session's cookie.
const cookieName = "toolpost_console"

const (
	sessionTime = 12 * time.Hour
	maxSessions = 1000
)

// session is a login of a user.
type session struct {
	user Account
	form string // a secret that every form of the session has
	ends time.Time
}

// formIsOurs reports whether a form was made for this session.
func (s *session) formIsOurs(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostFormValue("form")), []byte(s.form)) == 1
}

// hidden is the field that formIsOurs expects.
func (s *session) hidden() html.HTML {
	return html.Tag("input", html.Attrs{"type", "hidden", "name", "form", "value", s.form})
}

// sessions are the logins, by the hash of their cookie.
type sessions struct {
	users []Account
	mu    sync.Mutex
	all   map[[sha256.Size]byte]*session
}

// of returns the session of a request, nil if it has none.
func (s *sessions) of(r *http.Request) *session {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.all[sha256.Sum256([]byte(cookie.Value))]
	if found == nil || time.Now().After(found.ends) {
		return nil
	}
	return found
}

// MinToken is the length of the shortest token that logs in.
const MinToken = 16

// begin returns the cookie of a new session for the user with a token, or "".
func (s *sessions) begin(token string) string {
	var user *Account
	given := sha256.Sum256([]byte(token))
	for i, u := range s.users {
		own := sha256.Sum256([]byte(u.Token))
		if subtle.ConstantTimeCompare(given[:], own[:]) == 1 && len(u.Token) >= MinToken {
			user = &s.users[i]
		}
	}
	if user == nil {
		return ""
	}
	cookie := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for key, old := range s.all {
		if now.After(old.ends) {
			delete(s.all, key)
		}
	}
	if s.all == nil {
		s.all = make(map[[sha256.Size]byte]*session)
	}
	if len(s.all) >= maxSessions {
		return ""
	}
	s.all[sha256.Sum256([]byte(cookie))] = &session{user: *user, form: rand.Text(), ends: now.Add(sessionTime)}
	return cookie
}

// end ends the session of a request.
func (s *sessions) end(r *http.Request) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(cookie.Value)))
}

// loginPage asks for the token. A link with a token in its fragment, which browsers do not send, fills the form in.
func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	c.writeLogin(w, http.StatusOK, "")
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	cookie := c.sessions.begin(strings.TrimSpace(r.PostFormValue("token")))
	if cookie == "" {
		c.writeLogin(w, http.StatusUnauthorized, "This token is not known. The command that started the console prints it.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: cookie, Path: c.Base + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.Secure, MaxAge: int(sessionTime / time.Second)})
	http.Redirect(w, r, c.Base+"/", http.StatusSeeOther)
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	if s := c.sessions.of(r); s == nil || !s.formIsOurs(r) {
		http.Error(w, "The form is out of date. Load the page again.", http.StatusForbidden)
		return
	}
	c.sessions.end(r)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: c.Base + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.Secure, MaxAge: -1})
	http.Redirect(w, r, c.Base+"/login", http.StatusSeeOther)
}
