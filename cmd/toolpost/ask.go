package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
)

// asker asks the person at the terminal. Nobody can be asked if in is nil.
type asker struct {
	in     *bufio.Reader
	yes    bool // whatever is asked for is allowed
	pr     *printer
	always map[string]bool // tools that are allowed for the rest of the run
}

// newAsker asks on in, if that is a terminal.
func newAsker(in io.Reader, pr *printer, yes bool) *asker {
	a := &asker{pr: pr, yes: yes, always: make(map[string]bool)}
	if f, ok := in.(*os.File); ok && isTerminal(f) {
		a.in = bufio.NewReader(f)
	}
	return a
}

// there reports whether somebody can be asked.
func (a *asker) there() bool { return a.in != nil && a.pr.live }

// approve decides about a call that may change things.
func (a *asker) approve(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	switch {
	case a.yes:
		return q.Answer(true, "--yes", ""), nil
	case a.always[q.Tool]:
		return q.Answer(true, "the person at the terminal", "always for this tool"), nil
	case !a.there():
		return q.Answer(false, "toolpost", "nobody can be asked here; --yes allows it beforehand"), nil
	}
	var answer string
	var err error
	a.pr.pause(func() {
		p := a.pr.p
		fmt.Fprintf(a.pr.log, "%s %s %s\n", p.yellow("?"), p.bold(q.Tool), inOneLine(string(q.Args)))
		answer, err = a.choose(ctx, fmt.Sprintf("  allow it? %ses, %so, %slways ", p.cyan("[y]"), p.cyan("[n]"), p.cyan("[a]")), "yes", "no", "always")
	})
	if err != nil {
		return journal.Approval{}, err
	}
	a.always[q.Tool] = answer == "always"
	return q.Answer(answer != "no", "the person at the terminal", ""), nil
}

// checkpoint shows what failed and asks how to go on.
func (a *asker) checkpoint(ctx context.Context, c agent.Checkpoint) (agent.Choice, error) {
	choice := agent.Choice{By: "the person at the terminal"}
	var err error
	a.pr.pause(func() {
		fmt.Fprint(a.pr.log, menu(a.pr.p, c, a.pr.width()))
		words := make([]string, len(c.Options))
		for i, o := range c.Options {
			words[i] = string(o)
		}
		var word string
		if word, err = a.choose(ctx, "  what now? ", words...); err != nil {
			return
		}
		if choice.Action = agent.Action(word); choice.Action == agent.Manual {
			fmt.Fprint(a.pr.log, "  > ")
			choice.Text, err = a.readLine(ctx)
		}
	})
	return choice, err
}

// choose asks until the answer is one of words, or the beginning of one.
func (a *asker) choose(ctx context.Context, prompt string, words ...string) (string, error) {
	for {
		fmt.Fprint(a.pr.log, prompt)
		text, err := a.readLine(ctx)
		if err != nil {
			return "", err
		}
		text = strings.ToLower(strings.TrimSpace(text))
		i := slices.IndexFunc(words, func(w string) bool { return text != "" && strings.HasPrefix(w, text) })
		if i >= 0 {
			return words[i], nil
		}
		prompt = "  " + strings.Join(words, ", ") + "? "
	}
}

// readLine reads one line. It gives up when ctx is done; the reading itself
// cannot be stopped and ends with the program.
func (a *asker) readLine(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := a.in.ReadString('\n')
		read <- line{strings.TrimRight(text, "\r\n"), err}
	}()
	select {
	case l := <-read:
		if errors.Is(l.err, io.EOF) {
			return "", errors.New("nobody is there to answer any more")
		}
		return l.text, l.err
	case <-ctx.Done():
		fmt.Fprintln(a.pr.log)
		return "", ctx.Err()
	}
}
