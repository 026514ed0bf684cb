// Stream shows a run on a web page while it happens: text, calls and results are server-sent
// events. "stream ADDRESS" serves the page; without an address it asks once and prints the events.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

const page = `<!doctype html><p id="out"></p><script>
const s = new EventSource("/chat?q=Weather+in+Rome"), out = document.getElementById("out");
for (const kind of ["text", "call", "result"])
  s.addEventListener(kind, e => out.append(JSON.parse(e.data)));
s.addEventListener("done", () => s.close());
</script>`

func weather(_ context.Context, in struct{ City string }) (string, error) {
	return "sunny in " + in.City, nil
}

func chat(a *agent.Agent) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { // leaving the page cancels the run
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(kind, text string) {
			data, _ := json.Marshal(text)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
			_ = http.NewResponseController(w).Flush()
		}
		for ev, err := range a.Run(r.Context(), llm.User(r.FormValue("q"))) {
			switch ev := ev.(type) {
			case llm.TextDelta:
				send("text", ev.Text)
			case llm.Call:
				send("call", ev.Name+" "+string(ev.Args))
			case invoke.Outcome:
				send("result", ev.Result.Text())
			case llm.Retract:
				send("retract", "") // the answer begins again
			}
			if err != nil {
				send("error", err.Error())
			}
		}
		send("done", "")
	}
}

func main() {
	look := tool.Func("get_weather", "Current weather in a city.", weather)
	a := &agent.Agent{Model: sim.Offline{}, Tools: &invoke.Runner{Tools: tool.MustSet(look)}}
	http.HandleFunc("/chat", chat(a))
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, page)
	})
	if len(os.Args) == 2 {
		log.Fatal(http.ListenAndServe(os.Args[1], nil))
	}
	answer := httptest.NewRecorder()
	ask := httptest.NewRequest("GET", "/chat?q=Weather+in+Rome", nil)
	http.DefaultServeMux.ServeHTTP(answer, ask)
	fmt.Print(string(bytes.ReplaceAll(answer.Body.Bytes(), []byte("\n\n"), []byte("\n"))))
}
