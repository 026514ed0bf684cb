package gateway_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestAdministrationRefusesEndlessBodies checks that whoever is refused on the address of administrators is told so, and then cut off,
// though the body of the request never ends.
func TestAdministrationRefusesEndlessBodies(t *testing.T) {
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
			_ = conn.SetReadDeadline(time.Now().Add(6 * time.Second))
			answer, err := io.ReadAll(conn)
			if wait, ok := err.(net.Error); ok && wait.Timeout() || !strings.HasPrefix(string(answer), "HTTP/1.1 "+status) {
				t.Errorf("%.200q %v", answer, err)
			}
		})
	}
}
