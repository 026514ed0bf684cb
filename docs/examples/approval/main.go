// Approval is a run that waits for a person across processes: "approval ask TASK" ends when a
// payment needs consent, and "approval serve ADDRESS" is where a person decides, later.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

type invoice struct {
	Invoice string `json:"invoice"`
}

func pay(ctx context.Context, in invoice) (string, error) {
	info := tool.InfoOf(ctx) // a real service gets the key and charges once
	fmt.Println("paying", in.Invoice, "under the key", info.Run+"/"+info.Key)
	return "invoice " + in.Invoice + " is paid", nil
}

func askFirst(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
	return invoke.Decision{Verdict: invoke.Ask, Reason: "money leaves the house"}, nil
}

func nobodyYet(context.Context, invoke.Question) (journal.Approval, error) {
	return journal.Approval{}, &invoke.PendingError{Until: time.Now().Add(24 * time.Hour)}
}

func main() {
	store, err := journal.OpenDir("runs")
	if err != nil || len(os.Args) != 3 {
		log.Fatal(errors.Join(err, errors.New("usage: approval ask TASK | approval serve ADDRESS")))
	}
	tools := tool.MustSet(tool.Func("pay_invoice", "Pay an invoice by its number.", pay))
	a := &agent.Agent{Model: sim.Offline{}, Store: store, // any model: see provider.Open
		Tools: &invoke.Runner{Tools: tools, Policy: askFirst, Approve: nobodyYet}}
	if os.Args[1] == "ask" {
		done, err := a.Ask(context.Background(), llm.User(os.Args[2]))
		fmt.Println(done.Status, done.Run, err)
		return
	}
	http.HandleFunc("GET /{run}", func(w http.ResponseWriter, r *http.Request) {
		questions, err := agent.Waiting(r.Context(), store, r.PathValue("run"))
		reply(w, questions, err)
	})
	http.HandleFunc("POST /{run}", func(w http.ResponseWriter, r *http.Request) {
		var grants []agent.Grant // [{"call":"call_1","allowed":true,"by":"ada"}]
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&grants)
		var done agent.Done
		if err == nil {
			ctx := context.WithoutCancel(r.Context()) // the client may disconnect
			done, err = agent.Last(a.ResumeWith(ctx, r.PathValue("run"), grants))
		}
		reply(w, map[string]any{"status": done.Status, "text": done.Text}, err)
	})
	log.Fatal(http.ListenAndServe(os.Args[2], nil))
}

func reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	json.NewEncoder(w).Encode(v)
}
