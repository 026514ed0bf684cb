package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
)

// TestAdmin checks every operation of administrators.
func TestAdmin(t *testing.T) {
	f := build(t)
	do := func(method, path, body string, want int, words ...string) string {
		t.Helper()
		status, got := f.try(t, attack{admin: true, method: method, path: path, body: body, header: bearing(adminKey)})
		if status != want {
			t.Fatalf("%s %s: %d %s", method, path, status, got)
		}
		for _, w := range words {
			if !strings.Contains(got, w) {
				t.Errorf("%s %s: no %s in %s", method, path, w, got)
			}
		}
		return got
	}
	asks := func(key string, want int) {
		t.Helper()
		if status, body := f.try(t, attack{path: "/v1/chat/completions", body: hello, header: bearing(key)}); status != want {
			t.Errorf("%d %s", status, body)
		}
	}
	made := func(text string) (id, secret string) {
		t.Helper()
		var k struct{ ID, Secret string }
		if err := json.Unmarshal([]byte(text), &k); err != nil || k.Secret == "" {
			t.Fatalf("%v: %s", err, text)
		}
		return k.ID, k.Secret
	}
	id, first := made(do("POST", "/admin/keys", `{"team":"green","name":"ci","models":["chat"],"tools":["none"],"routes":["chat"],"limits":["requests/day=10"],"expires":"2099-01-01T00:00:00Z"}`, 200))
	asks(first, 200)
	list := do("GET", "/admin/keys", "", 200, id, `"limits":["requests/day=10"]`, `"expires":"2099-01-01T00:00:00Z"`)
	if strings.Contains(list, first[14:]) || strings.Contains(list, "hash") {
		t.Errorf("the list shows secrets: %s", list)
	}
	_, second := made(do("POST", "/admin/keys/"+id+"/rotate", `{"grace":"1h"}`, 200))
	asks(first, 200)
	asks(second, 200)
	_, third := made(do("POST", "/admin/keys/"+id+"/rotate", "", 200))
	asks(first, 401) // without a grace period, earlier secrets end too
	asks(second, 401)
	asks(third, 200)
	do("PUT", "/admin/teams/green", `{"limits":["requests/total=4","tokens/month=50000000"]}`, 200, `"requests/total=4"`)
	do("GET", "/admin/teams", "", 200, `"name":"green"`, `"tokens/month=50000000"`)
	asks(third, 429)
	do("POST", "/admin/keys/"+id+"/revoke", "", 200, `"revoked"`)
	asks(third, 401)
	do("GET", "/admin/usage?by=team,model", "", 200, `{"team":"green","model":"chat","requests":4,`, `"usd":0.0`)
	do("GET", "/admin/usage?by=team&format=csv&since=2026-01-01", "", 200, "team,requests,failed,cached,refused,input,output,usd,unpriced,estimated\n", "green,4,0,")
	do("GET", "/admin/requests?limit=2", "", 200, `"id":"req_`, `"key":"`+id+`"`)
	do("GET", "/admin/requests?limit=2&format=csv", "", 200, "at,id,team,key,route,model,upstream,format,status,cached,", ",green,"+id+",chat,chat,")
	do("GET", "/admin/usage?by=key", "", 200, `"cached":0,"refused":1,`)
	do("GET", "/admin/audit", "", 200, `"by":"admin","action":"revoke key","of":"`+id+`"`)
	do("GET", "/admin/audit?limit=x", "", 400, "not a number")
	do("DELETE", "/admin/teams/green?user=", "", 400, "the name is empty")
	do("GET", "/admin/usage?format=xml", "", 400, "neither json nor csv")
	do("GET", "/admin/usage?by=moon", "", 400, "only by team, key, route, model, upstream, user, tag, day")
	do("GET", "/admin/usage?since=soon", "", 400, "nor a day")
	do("GET", "/admin/requests?limit=-1", "", 400, "is not a number")
	do("POST", "/admin/keys/"+id+"/rotate", `{"grace":"1 day"}`, 400, "is not a duration")
	do("PATCH", "/admin/keys", "", 405, `{"error":{"message":`)
	do("GET", "/admin/nothing", "", 404, `{"error":{"message":`)
	do("GET", "/admin/usage?moon=ops", "", 400, "moon")
	do("GET", "/admin/usage?%C5%BFince=2026-01-01", "", 400, "unknown parameter")
	do("GET", "/admin/requests?%E2%84%AAey="+id, "", 400, "unknown parameter")
	do("POST", "/admin/keys", `{"team":"green","modelſ":["chat"]}`, 400, "unknown field")
	do("POST", "/admin/keys", `{"team":"green","Models":["chat"]}`, 400, "unknown field")
	do("POST", "/admin/keys", `{"team":"green","models":["chat"],"modelſ":["costly"]}`, 400, "twice")
	do("PUT", "/admin/teams/green", `{"limitſ":["requests/total=4000"]}`, 400, "unknown field")
	do("GET", "/admin/usage?team=ops", "", 404, "team", "it is not there")
	do("GET", "/admin/usage?key=nobody&by=day", "", 404, "key", "it is not there")
	do("GET", "/admin/usage?team=", "", 400, "is empty")
	do("GET", "/admin/usage?team=green&team=red", "", 400, "give it once")
	do("GET", "/admin/usage?by=team&team=green&key="+id+"&route=chat&model=chat&format=csv", "", 200, "\ngreen,4,0,")
	do("GET", "/admin/usage?by=team&team=green&model=other", "", 200, `"usage":[]`)
	do("GET", "/admin/requests?limit=1&team=green&route=chat", "", 200, `"id":"req_`)
	do("GET", "/admin/requests?upstream=other", "", 200, `"requests":[]`)
	do("GET", "/admin/requests?team=ops", "", 404, "it is not there")
	do("GET", "/admin/requests?by=team", "", 400, "by")
	do("GET", "/admin/usage?since=30d", "", 200)
	do("GET", "/admin/usage?since=5h", "", 400, "kept per UTC day")
	id, first = made(do("POST", "/admin/keys", `{"team":"grey","models":["chat"]}`, 200))
	do("PATCH", "/admin/keys/"+id, `{"models":["other"],"limits":["requests/day=10"],"expires":"30d"}`, 200, `"models":["other"]`, `"limits":["requests/day=10"]`, `"expires":`)
	asks(first, 403)
	do("PATCH", "/admin/keys/"+id, `{"models":["*"],"limits":[],"expires":"never","name":"ci"}`, 200, `"name":"ci"`)
	asks(first, 200)
	do("PATCH", "/admin/keys/"+id, `{"models":[]}`, 400, "empty")
	do("PATCH", "/admin/keys/tp-nobody", `{"name":"x"}`, 404)
	do("POST", "/admin/keys/"+id+"/rotate", `{"grace":"1d"}`, 200)
	do("GET", "/admin/keys", "", 200, `"earlier_until":["`)
	for _, verb := range []string{"rotate", "revoke"} {
		do("POST", "/admin/keys/tp-aaaaaaaaaa/"+verb, "", 404, "it is not there")
	}
	for body, says := range map[string]string{
		`{"team":"green","models":[]}`:                        "the list of models is empty",
		`{"team":"green","tools":[""]}`:                       "is not a name",
		`{"team":"green","routes":null}`:                      "is null",
		`{"team":"green","limits":[]}`:                        "the list of limits is empty",
		`{"team":"green","limits":["money/day=-1"]}`:          "is not an amount",
		`{"team":"green","model":["chat"]}`:                   `unknown field \"model\"`,
		`{"team":"green","models":["chat"],"models":["*"]}`:   "twice",
		`{"team":"green","models":["chat"],"Models":["*"]}`:   "twice",
		`{"team":"green","models":["chat"]} {"models":["*"]}`: "is not a JSON object",
		`{"team":"green","models":"chat"}`:                    `must be an array`,
		`["green"]`:                                           "is not a JSON object",
		`{"team":"green","expires":""}`:                       "2027-01-31T12:00:00Z",
		`{"team":"green","expires":"x"}`:                      "nor a duration like 720h",
		`{"team":"green","expires":"0h"}`:                     "expired already",
	} {
		do("POST", "/admin/keys", body, 400, says)
	}
	do("POST", "/admin/keys", `{"team":"green","expires":"30d"}`, 200, `"expires":"`)
	do("PUT", "/admin/teams/green", "", 400, "limits is missing")
	do("PUT", "/admin/teams/green", `{"limits":[]}`, 200)
	if _, err := (gateway.Administration{Book: f.book, Key: "short"}).Handler(); err == nil {
		t.Error("a short key is taken")
	}
	f.book.Store = broken{f.book.Store}
	do("POST", "/admin/keys", `{"team":"green"}`, 503)
}

// TestCSVCellsAreNotFormulas checks that a client's model name cannot become a formula in a spreadsheet.
func TestCSVCellsAreNotFormulas(t *testing.T) {
	var b strings.Builder
	list := []access.Spend{{Model: "=1+1"}, {Model: "@x"}, {Model: "plain"}, {Model: `a"b,c`}}
	if err := access.WriteCSV(&b, list, access.ByModel); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n'=1+1,", "\n'@x,", "\nplain,", "\n\"a\"\"b,c\","} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %q", want, b.String())
		}
	}
}

// TestAdminRefusesEmptyNumbers checks that an empty value, as of an unset variable in a script, is an
// error and not the default.
func TestAdminRefusesEmptyNumbers(t *testing.T) {
	f := build(t)
	for _, query := range []string{"limit=", "limit", "team=&limit="} {
		refused(t, f, "GET", "/admin/requests?"+query, fmt.Sprintf("is not a number from 0 to %d", access.MaxLog))
	}
	for _, query := range []string{"since=", "since", "by=team&since="} {
		refused(t, f, "GET", "/admin/usage?"+query, "nor a day like")
	}
}

// TestAdminLogLimit checks that a limit above the maximum is an error: a truncated list would look
// complete.
func TestAdminLogLimit(t *testing.T) {
	f := build(t)
	for _, limit := range []string{"-1", "10001", "99999999999999999999", "1e3", "all"} {
		refused(t, f, "GET", "/admin/requests?limit="+limit, fmt.Sprintf("is not a number from 0 to %d", access.MaxLog))
	}
	for _, limit := range []string{"0", "1", "10000"} {
		if status, body := f.try(t, attack{admin: true, method: "GET", path: "/admin/requests?limit=" + limit, header: bearing(adminKey)}); status != 200 || !strings.Contains(body, `"requests"`) {
			t.Errorf("limit=%s: %d %s", limit, status, body)
		}
	}
}

// TestAdminErrorsListParameters checks that the response to a wrong method lists all allowed ones, and that an empty change
// is refused.
func TestAdminErrorsListParameters(t *testing.T) {
	book := &access.Book{Store: new(access.Memory)}
	k, _, err := book.Create(t.Context(), access.Key{Name: "k", Team: "t"})
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Repeat("s", access.MinAdminKey)
	admin, err := gateway.Administration{Book: book, Key: secret}.Handler()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		allow, says        string
	}{
		{"PUT", "/admin/keys", "{}", 405, "GET, POST", "takes GET and POST, not PUT"},
		{"GET", "/admin/keys/" + k.ID, "", 405, "PATCH", "takes PATCH, not GET"},
		{"PATCH", "/admin/keys/" + k.ID, "{}", 400, "", "no field to change"},
		{"PATCH", "/admin/keys/" + k.ID, `{"name":"n"}`, 200, "", k.ID},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Allow") != c.allow || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %q %s", c.method, c.path, w.Code, w.Header().Get("Allow"), w.Body)
		}
	}
}

// TestAdminBodyLimit checks that a refused client gets its response, and is then disconnected,
// although the request body never ends.
func TestAdminBodyLimit(t *testing.T) {
	host := strings.TrimPrefix(build(t).admin, "http://")
	for head, status := range map[string]string{
		"POST /admin/keys HTTP/1.1\r\nHost: " + host:                                                                          "401",
		"POST /admin/keys HTTP/1.1\r\nHost: evil.example.org":                                                                 "421",
		"POST /nowhere HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nAuthorization: Bearer " + adminKey: "404",
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s\r\nTransfer-Encoding: chunked\r\n\r\n", head)
			go func() {
				for {
					if _, err := io.WriteString(conn, "1\r\n \r\n"); err != nil {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			}()
			_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
			answer, err := io.ReadAll(conn)
			if wait, ok := err.(net.Error); ok && wait.Timeout() || !strings.HasPrefix(string(answer), "HTTP/1.1 "+status) {
				t.Errorf("%.200q %v", answer, err)
			}
		})
	}
}

// TestAdminRefusesUnknownParameters checks that malformed, unknown and repeated query parameters are refused at every path.
// Without them the response would cover all teams.
func TestAdminRefusesUnknownParameters(t *testing.T) {
	f := build(t)
	paths := map[string][]string{
		"GET":   {"/admin/usage", "/admin/requests", "/admin/requests/req_x", "/admin/keys", "/admin/teams"},
		"POST":  {"/admin/keys", "/admin/keys/tp-x/rotate", "/admin/keys/tp-x/revoke"},
		"PATCH": {"/admin/keys/tp-x"},
		"PUT":   {"/admin/teams/green"},
	}
	for method, list := range paths {
		for _, path := range list {
			for query, says := range map[string]string{
				"team=100%":          `the parameters cannot be read: invalid URL escape`,
				"team=nope;":         `invalid semicolon`,
				"team=team_x;by=key": `invalid semicolon`,
				"key=%zz&by=team":    `invalid URL escape`,
				"te%am=x":            `invalid URL escape`,
				"moon=1":             `unknown parameter`,
			} {
				refused(t, f, method, path+"?"+query, says)
			}
		}
	}
	for _, query := range []string{"team=a&team=b", "format=csv&format=json", "key=a&key="} {
		refused(t, f, "GET", "/admin/usage?"+query, "is given 2 times")
		refused(t, f, "GET", "/admin/requests?"+query, "is given 2 times")
	}
	refused(t, f, "GET", "/admin/usage?by=team&by=key", "is given 2 times")
	for _, slash := range []string{"%2F", "%2f", "%5C", "%5c"} {
		refused(t, f, "PUT", "/admin/teams/green"+slash+"red", "the path has an encoded slash")
		refused(t, f, "DELETE", "/admin/teams/x"+slash+".."+slash+"green", "the path has an encoded slash")
	}
	refused(t, f, "GET", "/admin/usage?by=team,key,team", "team is named twice")
	refused(t, f, "GET", "/admin/requests?limit=1&limit=2", "is given 2 times")
	if status, body := f.try(t, attack{admin: true, method: "GET", path: "/admin/usage?by=team&model=100%25%3B", header: bearing(adminKey)}); status != 200 {
		t.Errorf("what is encoded is refused: %d %s", status, body)
	}
}

// refused checks for status 400 with this text.
func refused(t *testing.T, f *fort, method, path, says string) {
	t.Helper()
	status, body := f.try(t, attack{admin: true, method: method, path: path, header: bearing(adminKey)})
	if status != 400 || !strings.Contains(body, says) {
		t.Errorf("%s %s: %d %s, not 400 with %q", method, path, status, body, says)
	}
}

// slowStore is a store whose log takes time to read, unless the client disconnects.
type slowStore struct {
	access.Store
	takes time.Duration
	lines []access.LogLine
	asked chan error // how each query ended
}

func (s *slowStore) Log(ctx context.Context, _ access.LogQuery) ([]access.LogLine, error) {
	select {
	case <-ctx.Done():
	case <-time.After(s.takes):
	}
	s.asked <- ctx.Err()
	return s.lines, ctx.Err()
}

// administer serves the administrators of a store, over HTTP/1 and HTTP/2. Socket buffers are small.
func administer(t *testing.T, c gateway.Administration, store *slowStore) (host string, ended <-chan struct{}) {
	t.Helper()
	store.Store, store.asked = new(access.Memory), make(chan error, 8)
	c.Book, c.Key = &access.Book{Store: store}, adminKey
	h, err := c.Handler()
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{}, 8)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { over <- struct{}{} }()
		h.ServeHTTP(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), over
}

// manyLines returns a log of at least size bytes.
func manyLines(size int) []access.LogLine {
	one := access.LogLine{ID: strings.Repeat("r", 1000)}
	lines := make([]access.LogLine, size/1000)
	for i := range lines {
		lines[i] = one
	}
	return lines
}

// TestAdminSlowRequests checks that a query may take longer than the time limits for requests and reads, in
// both protocols, with and without a body.
func TestAdminSlowRequests(t *testing.T) {
	const limit = 100 * time.Millisecond
	for _, body := range []string{"", "{}"} {
		for _, two := range []bool{false, true} {
			t.Run(fmt.Sprintf("body %q HTTP/2 %t", body, two), func(t *testing.T) {
				t.Parallel()
				host, _ := administer(t, gateway.Administration{BodyTime: limit, WriteTime: limit}, &slowStore{takes: 5 * limit, lines: manyLines(5000)})
				client := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
				client.Transport.(*http.Transport).Protocols.SetHTTP1(!two)
				client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(two)
				for range 2 { // the connection serves another request
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/admin/requests", strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Authorization", "Bearer "+adminKey)
					resp, err := client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					var list struct{ Requests []access.LogLine }
					if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(got, &list) != nil || len(list.Requests) != 5 {
						t.Errorf("%s: %.200q, %v", resp.Status, got, err)
					}
				}
			})
		}
	}
}

// TestAdminWriteTimeout checks that a client which does not read is disconnected after the time for a piece, and
// that a slow reader gets the whole response, though that takes longer.
func TestAdminWriteTimeout(t *testing.T) {
	const limit = 300 * time.Millisecond
	ask := func(t *testing.T, host string) net.Conn {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
		fmt.Fprintf(conn, "GET /admin/requests HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", host, adminKey)
		return conn
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		host, over := administer(t, gateway.Administration{WriteTime: limit}, &slowStore{lines: manyLines(8 << 20)})
		ask(t, host)
		select {
		case <-over:
		case <-time.After(2 * time.Minute):
			t.Error("the answer still waits for its client")
		}
	})
	t.Run("nothing over HTTP/2", func(t *testing.T) {
		t.Parallel()
		host, over := administer(t, gateway.Administration{WriteTime: limit}, &slowStore{lines: manyLines(1 << 20)})
		if reset, err := unreadOverHTTP2With(t, host, "GET", "/admin/requests", "", "authorization", "Bearer "+adminKey); err != nil || reset.StreamID != 1 {
			t.Errorf("the stream is not ended: %v, %v", reset, err)
		}
		<-over
	})
	t.Run("slowly", func(t *testing.T) {
		t.Parallel()
		const limit = 2 * time.Second // longer than this test may wait for a processor
		host, _ := administer(t, gateway.Administration{WriteTime: limit}, &slowStore{lines: manyLines(4 << 20)})
		conn, began := ask(t, host), time.Now()
		_ = conn.SetReadDeadline(began.Add(2 * time.Minute))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for err == nil {
			var n int64
			n, err = io.CopyN(io.Discard, resp.Body, 256<<10)
			got += int(n)
			time.Sleep(limit / 8)
		}
		if took := time.Since(began); err != io.EOF || got < 4<<20 || took < 2*limit {
			t.Errorf("%d bytes in %v, then %v", got, took, err)
		}
	})
}

// TestAdministratorsHaveNames checks that several administrators have their own keys, and that the audit log names them.
func TestAdministratorsHaveNames(t *testing.T) {
	book := &access.Book{Store: new(access.Memory)}
	handler, err := gateway.Administration{Book: book, Key: "ada:0123456789abcdef01234567, bob:abcdefghijklmnopqrstuvwx"}.Handler()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (gateway.Administration{Book: book, Key: "ada:0123456789abcdef01234567,bob:short"}).Handler(); err == nil {
		t.Error("a short key is accepted")
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	for key, want := range map[string]int{"0123456789abcdef01234567": 200, "abcdefghijklmnopqrstuvwx": 200, "ada:0123456789abcdef01234567": 401, "": 401} {
		if resp, body := send(t, "PUT", server.URL+"/admin/teams/red", "application/json", `{"limits":[]}`, "Authorization", "Bearer "+key); resp.StatusCode != want {
			t.Error(key, body)
		}
	}
	changes, err := book.Audit(t.Context(), 9)
	if names := ""; err != nil || len(changes) != 2 {
		t.Error(changes, err)
	} else if names = changes[0].By + changes[1].By; names != "adabob" && names != "bobada" {
		t.Error(names)
	}
	if resp, body := send(t, "DELETE", server.URL+"/admin/teams/red", "", "", "Authorization", "Bearer 0123456789abcdef01234567"); resp.StatusCode != 200 || !strings.Contains(body, "erased") {
		t.Error(body)
	}
	if resp, body := send(t, "DELETE", server.URL+"/admin/teams/red", "", "", "Authorization", "Bearer 0123456789abcdef01234567"); resp.StatusCode != 404 {
		t.Error(body)
	}
}
