package gateway_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
)

// A key that a client wrote in a wrong place does not appear in the log.
func TestMisplacedKeysAreNotLogged(t *testing.T) {
	log := make(logged, 10)
	book := &access.Book{Store: new(access.Memory)}
	_, key, err := book.Create(t.Context(), access.Key{Team: "a"})
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native")}, Access: book, Log: slog.New(slog.NewTextHandler(log, nil))})
	send(t, "POST", url+"/v1/"+key+"/chat/completions", "application/json", `{}`, "Authorization", "Bearer "+key)
	send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"`+key+`","messages":[{"role":"user","content":"hi"}]}`, "Authorization", "Bearer "+key)
	for range 2 {
		if line := <-log; !strings.Contains(line, "request failed") || strings.Contains(line, key) {
			t.Errorf("the log has %s", line)
		}
	}
}
