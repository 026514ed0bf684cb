package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Limits of a file of judged answers.
const (
	maxLabelled      = 10_000
	maxLabelledBytes = 64 << 20
)

// labelled is an answer that a person judged by a rubric.
type labelled struct {
	ID     string         `json:"id"`
	Task   string         `json:"task"`
	Rubric string         `json:"rubric"`
	Answer string         `json:"answer"`
	Calls  []labelledCall `json:"calls"`
	Right  *bool          `json:"right"`
}

type labelledCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func newJudge(h Host) *cobra.Command {
	var model string
	var parallel int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "judge FILE -m MODEL",
		Short: "Measure how often a judge agrees with people",
		Long: `Asks a model to judge answers that people have judged, and prints how often it agrees,
with the 95 % interval, and how much of that is more than chance (Cohen's kappa).

FILE has JSON lines like
{"id":"a","task":"Greet Ann.","answer":"Hello Ann!","rubric":"The answer names Ann.","right":true}
"calls" is a list of {"name":…,"arguments":…}.`,
		Example: "  toolpost eval judge labelled.jsonl -m sim/offline",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if parallel < 1 || parallel > 256 {
				return cli.Usagef(cmd, "--concurrency must be between 1 and 256")
			}
			rows, err := readLabelled(args[0])
			if err != nil {
				return err
			}
			models, err := h.Models(cmd)
			if err != nil {
				return err
			}
			if model == "" {
				model = models.Default
			}
			if model == "" {
				return cli.Usagef(cmd, "which model? give one with -m")
			}
			m, err := models.Open(model)
			if err != nil {
				return err
			}
			cli.MustEnd(cmd.Context())
			a := judgeAll(cmd.Context(), m, model, rows, parallel)
			if cmd.Context().Err() != nil {
				return cli.ErrInterrupted
			}
			return a.print(cmd, asJSON)
		},
	}
	cmd.Flags().StringVarP(&model, "model", "m", "", "the `MODEL` that judges")
	cmd.Flags().IntVar(&parallel, "concurrency", 4, "how many questions the model gets at a time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// readLabelled reads a file of judged answers.
func readLabelled(path string) ([]labelled, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLabelledBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxLabelledBytes {
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxLabelledBytes)
	}
	var out []labelled
	lines := make(map[string]int)
	line := 0
	for row := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		line++
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		l, err := parseLabelled(row)
		if before, twice := lines[l.ID]; err == nil && twice {
			err = fmt.Errorf("line %d has the same id", before)
		}
		if err == nil && len(out) == maxLabelled {
			err = fmt.Errorf("more than %d answers", maxLabelled)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		lines[l.ID] = line
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the file has no answers", path)
	}
	return out, nil
}

func parseLabelled(row []byte) (l labelled, err error) {
	dec := json.NewDecoder(bytes.NewReader(row))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return l, errors.New("the line ends inside of its JSON; each line has one answer")
		}
		return l, errors.New(strings.TrimPrefix(js.Explain(err).Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return l, errors.New("text follows the answer; each line has one")
	}
	if name := js.Repeated(row); name != nil {
		return l, fmt.Errorf("the key %q is there twice", name)
	}
	for key := range js.Members(row) { // the decoder takes keys in other letters
		if name := string(key); name != strings.ToLower(name) {
			return l, fmt.Errorf("unknown field %q", name)
		}
	}
	switch {
	case slices.ContainsFunc(l.Calls, func(c labelledCall) bool { return c.Name == "" }):
		err = errors.New("a call has no name")
	case l.ID == "":
		err = errors.New("id is missing")
	case l.Task == "":
		err = errors.New("task is missing")
	case l.Rubric == "":
		err = errors.New("rubric is missing")
	case l.Answer == "" && len(l.Calls) == 0:
		err = errors.New("answer and calls are both missing")
	case l.Right == nil:
		err = errors.New("right is missing: true or false, as a person judged")
	}
	return l, err
}

// agreement is how a judge agrees with people.
type agreement struct {
	Model string `json:"model"`
	// Agree counts the answers that the judge and the person judge alike. Kappa is the part of it that is more than chance.
	Agree eval.Interval `json:"agree"`
	Kappa *float64      `json:"kappa,omitempty"`
	// TooMild are right only for the judge, TooStrict only for the person.
	TooMild   []difference `json:"too_mild"`
	TooStrict []difference `json:"too_strict"`
	// Failed are the answers that the judge did not judge.
	Failed []difference `json:"failed"`
}

type difference struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// judgeAll asks the judge all questions.
func judgeAll(ctx context.Context, m llm.Model, id string, rows []labelled, parallel int) *agreement {
	verdicts := make([]*eval.Judgement, len(rows))
	errs := make([]error, len(rows))
	var running sync.WaitGroup
	next := make(chan int)
	for range min(parallel, len(rows)) {
		running.Go(func() {
			for i := range next {
				if errs[i] = ctx.Err(); errs[i] == nil {
					verdicts[i], errs[i] = rows[i].judge(ctx, m, id)
				}
			}
		})
	}
	for i := range rows {
		next <- i
	}
	close(next)
	running.Wait()

	out := &agreement{Model: id, TooMild: []difference{}, TooStrict: []difference{}, Failed: []difference{}}
	agree, of, byJudge, byPerson := 0, 0, 0, 0
	for i, row := range rows {
		if errs[i] != nil {
			out.Failed = append(out.Failed, difference{row.ID, errs[i].Error()})
			continue
		}
		of++
		v := verdicts[i]
		if v.Pass {
			byJudge++
		}
		if *row.Right {
			byPerson++
		}
		switch {
		case v.Pass == *row.Right:
			agree++
		case v.Pass:
			out.TooMild = append(out.TooMild, difference{row.ID, v.Why})
		default:
			out.TooStrict = append(out.TooStrict, difference{row.ID, v.Why})
		}
	}
	out.Agree, out.Kappa = eval.Wilson(agree, of), kappa(agree, byJudge, byPerson, of)
	return out
}

// judge asks the judge one question.
func (l *labelled) judge(ctx context.Context, m llm.Model, id string) (*eval.Judgement, error) {
	t := &eval.Trial{Text: l.Answer}
	for _, c := range l.Calls {
		t.Calls = append(t.Calls, llm.Call{Name: c.Name, Args: c.Arguments})
	}
	return eval.Judge(ctx, m, id, &eval.Case{Messages: []llm.Message{llm.User(l.Task)}, Expect: eval.Expect{Rubric: l.Rubric}}, t)
}

// kappa returns Cohen's kappa of two raters who agree on some of n answers and call some right. It is nil if chance
// alone makes them agree.
func kappa(agree, rightA, rightB, n int) *float64 {
	if n == 0 {
		return nil
	}
	total, a, b := float64(n), float64(rightA)/float64(n), float64(rightB)/float64(n)
	byChance := a*b + (1-a)*(1-b)
	if byChance == 1 {
		return nil
	}
	k := (float64(agree)/total - byChance) / (1 - byChance)
	if math.Abs(k) < 1e-9 {
		k = 0 // never -0.00
	}
	return &k
}

func (a *agreement) print(cmd *cobra.Command, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		if err := cli.PrintJSON(out, a); err != nil {
			return err
		}
		return a.ended()
	}
	var w strings.Builder
	if a.Agree.Of > 0 {
		fmt.Fprintf(&w, "%s agrees with people on %s of %d answers\n", cli.Printable(a.Model), a.Agree, a.Agree.Of)
		if a.Kappa == nil {
			w.WriteString("  all answers are right, or all are wrong: chance alone explains the agreement\n")
		} else {
			fmt.Fprintf(&w, "  beyond chance    %.2f of 1 (Cohen's kappa)\n", *a.Kappa)
		}
	}
	for _, part := range []struct {
		title string
		list  []difference
	}{{"right for the judge, wrong for people", a.TooMild}, {"wrong for the judge, right for people", a.TooStrict}, {"not judged", a.Failed}} {
		if len(part.list) > 0 {
			fmt.Fprintf(&w, "\n%s, %d:\n", part.title, len(part.list))
		}
		for _, d := range part.list {
			fmt.Fprintf(&w, "  %s: %s\n", cli.OneLine(cli.Printable(d.ID), 100), cli.OneLine(cli.Printable(d.Why), 300))
		}
	}
	if _, err := io.WriteString(out, w.String()); err != nil {
		return err
	}
	return a.ended()
}

// ended returns an error if some answers were not judged.
func (a *agreement) ended() error {
	if n := len(a.Failed); n > 0 {
		return fmt.Errorf("%d of %d answers were not judged; the first: %s", n, n+a.Agree.Of, a.Failed[0].Why)
	}
	return nil
}
