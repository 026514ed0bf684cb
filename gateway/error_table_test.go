package gateway_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/wire"
)

// errorCell is a cell of conformance/cells.json. Only cells that end with a status are read, or that another row
// describes through a gateway.
type errorCell struct {
	Cell, Format, Model string
	Over                []string
	Request, Extra      map[string]json.RawMessage // Extra: fields that a vendor's client does not support
	Expect, Stream      struct {
		Error struct {
			Status int
			Says   string
		}
	}
	Does        string
	Reply, Then json.RawMessage // of the second request
}

// pair is a route of a configuration in conformance/gateway: the formats of client and upstream.
var pair = regexp.MustCompile(`from: \[(\w+)\], to: \[\{model: up-(\w+)/`)

// TestErrorsOfEveryFormatPair sends the requests of all cells that end with a status, without the vendors' clients. The suite
// with these clients runs only on demand, and would report a difference too late.
func TestErrorsOfEveryFormatPair(t *testing.T) {
	var table struct{ Cells, Through []errorCell }
	if err := json.Unmarshal(readFile(t, "../conformance/cells.json"), &table); err != nil {
		t.Fatal(err)
	}
	asked := map[string]int{}
	for _, over := range []string{"same", "other"} {
		for _, p := range pair.FindAllSubmatch(readFile(t, "../conformance/gateway/"+over+".yml"), -1) {
			for _, c := range table.Cells {
				if c.Format != string(p[1]) || !c.plain() {
					continue
				}
				for _, other := range table.Through {
					if other.Cell == c.Cell && other.Format == c.Format && slices.Contains(other.Over, over) {
						c.Expect, c.Stream = other.Expect, other.Stream
					}
				}
				if c.Expect.Error.Status == 0 {
					continue // not an error through the gateway
				}
				asked[over]++
				c.check(t, over, string(p[2]))
			}
		}
	}
	if asked["same"] < 18 || asked["other"] < 18 {
		t.Errorf("%v cells were asked: the table has three for each of six formats", asked)
	}
}

// plain reports whether the cell is a single request that ends with a status.
func (c errorCell) plain() bool {
	_, config := c.Request["config"] // Google's clients split it
	return c.Expect.Error.Status != 0 && c.Does == "" && c.Reply == nil && c.Then == nil && !config
}

// check sends the request with and without a stream. It skips the stream if the error would come after the status.
func (c errorCell) check(t *testing.T, over, upstream string) {
	t.Helper()
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to(c.Model, "up-"+upstream+"/sim/"+c.Model)}})
	codec, _ := wire.For(c.Format)
	maps.Copy(c.Request, c.Extra)
	for _, stream := range []bool{false, true} {
		if stream && c.Stream.Error.Says != "" {
			continue
		}
		if c.Format != wire.Gemini && c.Format != wire.Converse { // the paths of these contain both
			c.Request["model"], _ = json.Marshal(c.Model)
			c.Request["stream"], _ = json.Marshal(stream)
		}
		body, err := json.Marshal(c.Request)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(url+roots[c.Format]+"/"+codec.Path(c.Model, stream), "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := c.Expect.Error; err != nil || resp.StatusCode != want.Status || !strings.Contains(string(got), want.Says) {
			t.Errorf("%s of %s over %s, stream=%t: %v, %s, want %d %q: %s", c.Cell, c.Format, over, stream, err, resp.Status, want.Status, want.Says, got)
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
