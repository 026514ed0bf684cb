package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
)

// TestAdmin walks through all that administrators can do.
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
	asks(first, 401) // without grace, earlier secrets end too
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
	do("GET", "/admin/usage?format=xml", "", 400, "neither json nor csv")
	do("GET", "/admin/usage?by=moon", "", 400, "only by team, key, route, model, upstream, day")
	do("GET", "/admin/usage?since=soon", "", 400, "nor a day")
	do("GET", "/admin/requests?limit=-1", "", 400, "is no number")
	do("POST", "/admin/keys/"+id+"/rotate", `{"grace":"1 day"}`, 400, "is no duration")
	do("PATCH", "/admin/keys", "", 405, `{"error":{"message":`)
	do("GET", "/admin/nothing", "", 404, `{"error":{"message":`)
	do("GET", "/admin/usage?moon=ops", "", 400, "moon")
	do("GET", "/admin/usage?team=ops", "", 404, "team", "it is not there")
	do("GET", "/admin/usage?key=nobody&by=day", "", 404, "key", "it is not there")
	do("GET", "/admin/usage?team=", "", 400, "is empty")
	do("GET", "/admin/usage?team=green&team=red", "", 400, "one is picked at a time")
	do("GET", "/admin/usage?by=team&team=green&key="+id+"&route=chat&model=chat&format=csv", "", 200, "\ngreen,4,0,")
	do("GET", "/admin/usage?by=team&team=green&model=other", "", 200, `"usage":[]`)
	do("GET", "/admin/requests?limit=1&team=green&route=chat", "", 200, `"id":"req_`)
	do("GET", "/admin/requests?upstream=other", "", 200, `"requests":[]`)
	do("GET", "/admin/requests?team=ops", "", 404, "it is not there")
	do("GET", "/admin/requests?by=team", "", 400, "by")
	do("GET", "/admin/usage?since=30d", "", 200)
	do("GET", "/admin/usage?since=5h", "", 400, "kept by day")
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
		`{"team":"green","tools":[""]}`:                       "is no name",
		`{"team":"green","routes":null}`:                      "is null",
		`{"team":"green","limits":[]}`:                        "the list of limits is empty",
		`{"team":"green","limits":["money/day=-1"]}`:          "is no amount",
		`{"team":"green","model":["chat"]}`:                   `unknown field \"model\"`,
		`{"team":"green","models":["chat"],"models":["*"]}`:   "twice",
		`{"team":"green","models":["chat"],"Models":["*"]}`:   "twice",
		`{"team":"green","models":["chat"]} {"models":["*"]}`: "is no JSON object",
		`{"team":"green","models":"chat"}`:                    `must be an array`,
		`["green"]`:                                           "is no JSON object",
		`{"team":"green","expires":""}`:                       "2027-01-31T12:00:00Z",
		`{"team":"green","expires":"x"}`:                      "nor a duration like 720h",
		`{"team":"green","expires":"0h"}`:                     "expired already",
	} {
		do("POST", "/admin/keys", body, 400, says)
	}
	do("POST", "/admin/keys", `{"team":"green","expires":"30d"}`, 200, `"expires":"`)
	do("PUT", "/admin/teams/green", "", 400, "limits is missing")
	do("PUT", "/admin/teams/green", `{"limits":[]}`, 200)
	if _, err := gateway.Admin(f.book, "short"); err == nil {
		t.Error("a short key is taken")
	}
	f.book.Store = broken{f.book.Store}
	do("POST", "/admin/keys", `{"team":"green"}`, 503)
}

// TestCSVIsNoFormula checks that what clients call a model is no formula in a spreadsheet.
func TestCSVIsNoFormula(t *testing.T) {
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
