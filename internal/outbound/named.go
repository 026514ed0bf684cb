package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// CheckHeader returns an error for a header that net/http would refuse when a request is sent. The error does not contain the
// value, which may be a key.
func CheckHeader(name, value string) error {
	switch {
	case name == "":
		return errors.New("a header has no name")
	case strings.IndexFunc(name, notInName) >= 0:
		return fmt.Errorf("%.60q is not a name of a header: it has letters, digits and %s only", name, nameMarks)
	case slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
		return fmt.Errorf("the header %s follows from the request itself and cannot be set", name)
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
		return fmt.Errorf("the value of the header %s holds a line break or another control character", name)
	}
	return nil
}

// ownHeaders are the headers that net/http always writes itself.
var ownHeaders = []string{"Content-Length", "Host", "Trailer", "Transfer-Encoding"}

// nameMarks are the characters that a header name may have in addition to letters and digits (RFC 9110, section 5.6.2).
const nameMarks = "!#$%&'*+-.^_`|~"

func notInName(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune(nameMarks, r)
}

// CheckPort returns an error if the port of an address is invalid. An address without a port is valid.
func CheckPort(u *url.URL) error {
	port := u.Port()
	if strings.HasSuffix(u.Host, ":") {
		return errors.New("the port after the colon of its host is missing; it can be 1 to 65535")
	}
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return fmt.Errorf("%.20q is not a port; it can be 1 to 65535", port)
	}
	return nil
}
