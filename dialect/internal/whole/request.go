package whole

import (
	"net/url"
	"strings"
)

// request reads an HTTP request, a curl command or an address whose path ends in the name of the tool. The query or the
// body holds the arguments. Any header but those about the body's type makes it another request.
func (r *reading) request(text string) bool {
	words, body, ok := requestWords(text)
	if !ok {
		return false
	}
	target := ""
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "curl" && i == 0, verbs[word], strings.HasPrefix(word, "HTTP/"), quietFlags[word]:
		case word == "-X" || word == "--request":
			i++
		case word == "-H" || word == "--header":
			if i++; i == len(words) || !isPlainHeader(words[i]) {
				return false
			}
		case bodyFlags[word]:
			if i++; i == len(words) || body != "" {
				return false
			}
			body = words[i]
		case target == "" && strings.Contains(word, "/"):
			target = word
		default:
			return false
		}
	}
	body = strings.TrimSpace(body)
	return r.target(target) && (body == "" || body[0] == '{' && r.addObject(body) || body[0] != '{' && r.query(body))
}

// target reads the address of a request.
func (r *reading) target(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Fragment != "" {
		return false
	}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	host := u.Hostname()
	if u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" && u.Port() == "" { // tool://name
		if path = append([]string{host}, path...); path[len(path)-1] == "" {
			path = path[:len(path)-1]
		}
		host = ""
		if !isCallWord(u.Scheme) {
			return false
		}
	}
	last := len(path) - 1
	if !isToolHost(host) || !r.names.Offered(path[last]) || !r.setName(path[last]) {
		return false
	}
	r.named = true
	for _, part := range path[:last] {
		if part != "v1" && !isCallWord(part) {
			return false
		}
	}
	return u.RawQuery == "" || r.query(u.RawQuery)
}

// isToolHost reports whether a host is no public one.
func isToolHost(host string) bool {
	return !strings.Contains(host, ".") || host == "127.0.0.1" || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}

// query reads arguments as in the query of an address.
func (r *reading) query(text string) bool {
	for pair := range strings.SplitSeq(text, "&") {
		key, value, ok := strings.Cut(pair, "=")
		plain, err := url.PathUnescape(value)
		if !ok || err != nil || strings.Contains(value, "+") || !r.addText(key, plain) {
			return false
		}
	}
	return true
}

// requestWords splits a request into words, and the body after an empty line. Headers must be about the body's type.
func requestWords(text string) (words []string, body string, ok bool) {
	head, body, _ := strings.Cut(text, "\n\n")
	first, headers, _ := strings.Cut(head, "\n")
	if strings.HasPrefix(first, "curl ") {
		words, ok = shellWords(strings.ReplaceAll(text, "\\\n", " "))
		return words, "", ok
	}
	if words = strings.Fields(first); len(words) == 0 || len(words) > 1 && !verbs[words[0]] || !strings.Contains(first, "/") {
		return nil, "", false
	}
	for line := range strings.Lines(headers) {
		if !isPlainHeader(line) {
			return nil, "", false
		}
	}
	return words, body, true
}

// isPlainHeader reports whether a header is about the type of the body or the host.
func isPlainHeader(line string) bool {
	key, _, ok := strings.Cut(line, ":")
	return ok && plainHeaders[strings.ToLower(key)]
}

var (
	plainHeaders = set("content-type accept content-length host")
	verbs        = set("GET POST PUT")
	quietFlags   = set("-s -S -sS -i -L --silent")
	bodyFlags    = set("-d --data --data-raw --data-binary --json")
)

// shellWords splits a command line. A word may be in quotes; a variable or another command makes it no plain command.
func shellWords(line string) (words []string, ok bool) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		var word string
		switch quote := line[:1]; {
		case quote == "'" || quote == `"`:
			if word, line, ok = strings.Cut(line[1:], quote); !ok || quote == `"` && strings.ContainsAny(word, "$`\\") {
				return nil, false
			}
		default:
			n := strings.IndexAny(line, " \t\r\n")
			if n < 0 {
				n = len(line)
			}
			if word, line = line[:n], line[n:]; strings.ContainsAny(word, "$`\\'\";|&<>()") && !strings.Contains(word, "://") {
				return nil, false
			}
		}
		words = append(words, word)
	}
	return words, true
}
