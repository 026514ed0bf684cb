package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/wire"
)

// stuck is a client that reads nothing.
type stuck struct {
	http.ResponseWriter
	asked, read chan struct{}
	once        sync.Once
}

func (s *stuck) Header() http.Header { return make(http.Header) }

func (s *stuck) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.asked) })
	<-s.read
	return len(b), nil
}

// TestMetricsNobodyReads checks that requests are answered while somebody asks for metrics and does not read them.
func TestMetricsNobodyReads(t *testing.T) {
	l, url := live(t, gateway.Setup{Routes: []gateway.ModelRoute{to("native", "up-chat/sim/native")}})
	ask(t, url, wire.Chat, question("native"), true)
	client := &stuck{asked: make(chan struct{}), read: make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		l.Metrics().ServeHTTP(client, httptest.NewRequest("GET", "/metrics", nil))
	}()
	<-client.asked
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		ask(t, url, wire.Chat, question("native"), true)
	}()
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("a request waits for whoever reads the metrics")
	}
	close(client.read)
	<-over
	<-answered
}
