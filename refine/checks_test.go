package refine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/schema"
)

// level is a type that reads text and refuses some.
type level int

func (l *level) UnmarshalText(text []byte) error {
	i := strings.Index("low mid high", string(text))
	if i < 0 {
		return fmt.Errorf("the level %q is none of low, mid, high", text)
	}
	*l = level(i / 4)
	return nil
}

type booking struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Level level     `json:"level"`
	Mail  string    `json:"mail" format:"email"`
}

var errOrder = errors.New("until must be after from")

func (b booking) validate() error {
	if !b.Until.After(b.From) {
		return errOrder
	}
	return nil
}

const goodBooking = `{"from":"2026-01-02T10:00:00Z","until":"2026-01-03T10:00:00Z","level":"mid","mail":"ada@example.com"}`

// TestRefusedValuesAreMended: what the types of Go, a format or a check of the
// program refuse is told to the model, as is what the schema refuses.
func TestRefusedValuesAreMended(t *testing.T) {
	for _, c := range []struct{ name, was, is, told string }{
		{"a date for a time", `"2026-01-02T10:00:00Z"`, `"2026-01-02"`, "The value at /from must be a valid date-time. Write it like 2026-01-31T09:30:00Z."},
		{"a leap second, which only Go refuses", `"2026-01-02T10:00:00Z"`, `"2026-06-30T23:59:60Z"`, "The value at /from was refused: parsing time"},
		{"text that its type refuses", `"mid"`, `"middle"`, `The value at /level was refused: the level "middle" is none of low, mid, high.`},
		{"a format", `ada@example.com`, `ada`, "The value at /mail must be a valid email."},
		{"a check of the program", `2026-01-03`, `2026-01-01`, "but its content was refused. until must be after from. Please correct the values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(goodBooking, c.was, c.is, 1)
			m := &actor{says: []any{bad, goodBooking}}
			got, err := refine.Into(t.Context(), m, ask(), 0, booking.validate)
			if err != nil || got.Level != 1 || len(m.asked) != 2 {
				t.Fatalf("asked %d times: %+v, %v", len(m.asked), got, err)
			}
			last := m.asked[1].Messages
			if text := last[len(last)-1].Text(); !strings.Contains(text, c.told) {
				t.Errorf("the model was told\n%s\nand not\n%s", text, c.told)
			}
			m = &actor{says: []any{bad}}
			var tried *refine.OutputError
			if _, err = refine.Into(t.Context(), m, ask(), 2, booking.validate); !errors.As(err, &tried) || len(m.asked) != 2 || llm.KindOf(err) != llm.BrokenPromise {
				t.Errorf("asked %d times: %v", len(m.asked), err)
			}
		})
	}
}

// TestTheErrorOfACheckSurvives: whoever asked can tell which check refused.
func TestTheErrorOfACheckSurvives(t *testing.T) {
	bad := strings.Replace(goodBooking, "2026-01-03", "2026-01-01", 1)
	m := &actor{says: []any{bad}}
	_, err := refine.Into(t.Context(), m, ask(), 1, booking.validate)
	var tried *refine.OutputError
	if !errors.Is(err, errOrder) || !errors.As(err, &tried) || tried.Attempts[0].Cause != "value" || string(tried.Attempts[0].Value) != bad {
		t.Errorf("got %v", err)
	}
	m = &actor{says: []any{strings.Replace(goodBooking, "mid", "middle", 1)}}
	_, err = refine.Into[booking](t.Context(), m, ask(), 1)
	var fault schema.Fault
	if !errors.As(err, &fault) || fault.Path != "/level" || fault.Keyword != "decode" {
		t.Errorf("fault %+v in %v", fault, err)
	}
}

// TestACheckSeesAValueOnce: a check may be expensive, and an answer can be read in several ways.
func TestACheckSeesAValueOnce(t *testing.T) {
	seen := 0
	m := &actor{says: []any{goodBooking}}
	_, err := refine.Into(t.Context(), m, ask(), 1, func(booking) error { seen++; return errOrder })
	if !errors.Is(err, errOrder) || seen != 1 {
		t.Errorf("checked %d times: %v", seen, err)
	}
}

// TestAnotherReadingMayPass: of several values in an answer the first counts that
// no check refuses.
func TestAnotherReadingMayPass(t *testing.T) {
	bad := strings.Replace(goodBooking, "2026-01-03", "2026-01-01", 1)
	m := &actor{says: []any{"Not this one:\n```json\n" + bad + "\n```\nBut this:\n```json\n" + goodBooking + "\n```"}}
	if _, err := refine.Into(t.Context(), m, ask(), 1, booking.validate); err != nil {
		t.Error(err)
	}
}

// TestACheckThatCannotBeMade ends the request: the model cannot mend it.
func TestACheckThatCannotBeMade(t *testing.T) {
	for name, broken := range map[string]error{
		"an error of the library": &llm.Error{Op: "lookup", Kind: llm.Auth, Err: errors.New("no key")},
		"a context":               fmt.Errorf("looking it up: %w", context.DeadlineExceeded),
	} {
		m := &actor{says: []any{goodBooking}}
		if _, err := refine.Into(t.Context(), m, ask(), 3, func(booking) error { return broken }); !errors.Is(err, broken) || len(m.asked) != 1 {
			t.Errorf("%s: asked %d times: %v", name, len(m.asked), err)
		}
	}
}

// TestStructuredChecks: checks of raw JSON, for whoever has no Go type.
func TestStructuredChecks(t *testing.T) {
	m := &actor{says: []any{`{"answer":"no"}`, `{"answer":"yes"}`}}
	model := refine.Structured(m, 0, func(raw json.RawMessage) error {
		if strings.Contains(string(raw), "no") {
			return errors.New("Try to be positive!")
		}
		return nil
	})
	req := ask()
	req.Output = &llm.OutputFormat{Schema: []byte(`{"type":"object"}`)}
	var causes []refine.RecoveryCause
	var text string
	for ev, err := range model.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case refine.Recovery:
			causes = append(causes, ev.Cause)
		case llm.TextDelta:
			text += ev.Text
		}
	}
	if text != `{"answer":"yes"}` || len(causes) != 1 || causes[0] != "value" {
		t.Errorf("%s after %v", text, causes)
	}
}

type (
	payment interface{ pays() }
	card    struct {
		Number string `json:"number" pattern:"^[0-9]{4}$"`
	}
	transfer struct {
		IBAN string `json:"iban"`
	}
	payments struct{}
	invoice  struct {
		Pay []schema.Union[payment, payments] `json:"pay"`
	}
)

func (card) pays()      {}
func (*transfer) pays() {}

func (payments) Cases() (string, map[string]payment) {
	return "kind", map[string]payment{"card": card{}, "transfer": &transfer{}}
}

// TestIntoAUnion: the field that tells the cases apart says what is wrong.
func TestIntoAUnion(t *testing.T) {
	const good = `{"pay":[{"kind":"card","number":"1234"},{"kind":"transfer","iban":"DE1"}]}`
	for bad, told := range map[string]string{
		`{"pay":[{"kind":"card","number":"12"}]}`:     "The value at /pay/0/number must be a string that matches ^[0-9]{4}$.",
		`{"pay":[{"kind":"cheque","number":"1234"}]}`: `The value at /pay/0/kind must be "card" or "transfer", not a string of 6 characters.`,
		`{"pay":[{"number":"1234"}]}`:                 `lacks the required property "kind"`,
	} {
		m := &actor{says: []any{bad, good}}
		got, err := refine.Into[invoice](t.Context(), m, ask(), 0)
		if err != nil || len(m.asked) != 2 {
			t.Fatalf("%s: asked %d times, %v", bad, len(m.asked), err)
		}
		if c, ok := got.Pay[0].Value.(card); !ok || c.Number != "1234" {
			t.Errorf("got %+v", got.Pay[0])
		}
		if tr, ok := got.Pay[1].Value.(*transfer); !ok || tr.IBAN != "DE1" {
			t.Errorf("got %+v", got.Pay[1])
		}
		last := m.asked[1].Messages
		if text := last[len(last)-1].Text(); !strings.Contains(text, told) {
			t.Errorf("%s: the model was told\n%s\nand not\n%s", bad, text, told)
		}
	}
}

// TestALongErrorOfACheckIsCut: the next question does not grow by it, and who
// asked has it whole.
func TestALongErrorOfACheckIsCut(t *testing.T) {
	long := errors.New(strings.Repeat("é", 500_000))
	m := &actor{says: []any{goodBooking}}
	_, err := refine.Into(t.Context(), m, ask(), 2, func(booking) error { return long })
	if !errors.Is(err, long) || len(err.Error()) > 10_000 || len(m.asked) != 2 {
		t.Fatalf("asked %d times, an error of %d bytes", len(m.asked), len(err.Error()))
	}
	last := m.asked[1].Messages
	text := last[len(last)-1].Text()
	if len(text) > 5_000 || !utf8.ValidString(text) || !strings.Contains(text, strings.Repeat("é", 1000)+"…") {
		t.Errorf("the model is told %d bytes", len(text))
	}
}

// TestIntoAnotherType: an answer that matches a schema of the caller and has
// nothing that the type knows is no zero value.
func TestIntoAnotherType(t *testing.T) {
	type known struct {
		Answer string `json:"answer"`
		Own    string `json:"own" jsonschema:"-"`
	}
	for _, c := range []struct {
		name, schema string
		says         []any
		want         known
		asked        int
		fails        bool
	}{
		{"a schema of something else", `{"type":"object","properties":{"zzz":{"type":"string"}},"required":["zzz"]}`, []any{`{"zzz":"a"}`}, known{}, 2, true},
		{"an open one, mended", `{"type":"object"}`, []any{`{"zzz":"a"}`, `{"answer":"a"}`}, known{Answer: "a"}, 2, false},
		{"more than the type has", `{"type":"object"}`, []any{`{"why":"b","answer":"a"}`}, known{Answer: "a"}, 1, false},
		{"a field that the schema does not tell", `{"type":"object"}`, []any{`{"own":"a"}`}, known{Own: "a"}, 1, false},
		{"nothing", `{"type":"object"}`, []any{`{}`}, known{}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			req.Output = &llm.OutputFormat{Schema: []byte(c.schema)}
			m := &actor{says: c.says}
			got, err := refine.Into[known](t.Context(), m, req, 2)
			if got != c.want || (err != nil) != c.fails || len(m.asked) != c.asked {
				t.Fatalf("asked %d times: %+v, %v", len(m.asked), got, err)
			}
			if last := m.asked[len(m.asked)-1].Messages; c.asked > 1 && !strings.Contains(last[len(last)-1].Text(), "none of the members answer.") {
				t.Errorf("the model was told %s", last[len(last)-1].Text())
			}
		})
	}
	req := ask()
	req.Output = &llm.OutputFormat{Schema: []byte(`{"type":"object"}`)}
	if got, err := refine.Into[map[string]string](t.Context(), &actor{says: []any{`{"zzz":"a"}`}}, req, 1); err != nil || got["zzz"] != "a" {
		t.Errorf("a map: %v, %v", got, err)
	}
}
