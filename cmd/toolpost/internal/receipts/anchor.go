package receipts

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/internal/signing"
	"github.com/toolpost/toolpost/journal"
)

func newReceiptsAnchor() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:   "anchor FILE",
		Short: "Write down how far all runs have got, signed",
		Long: `Add a line to FILE that says how many entries each run of the store has and what the
last one is, with the hash of the line before, signed with an Ed25519 key.

The chain of a run cannot show that the whole run is gone, or that the end of an open one
was cut off. 'toolpost receipts verify --anchor FILE' does. Keep FILE where those who can
write to the store cannot: whoever can shorten both can hide what came last.

Runs that do not verify are reported and left out. A line is not added to a file that does
not agree with the store; if you have removed runs yourself, begin a new file.`,
		Example: "  toolpost receipts anchor --key audit.key anchors.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if keyFile == "" {
				return cli.Usagef(cmd, "name the key with --key FILE")
			}
			return anchorRuns(cmd, args[0], keyFile)
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "the private key `FILE`")
	return cmd
}

func anchorRuns(cmd *cobra.Command, file, keyFile string) error {
	key, err := readPrivateKey(keyFile)
	if err != nil {
		return err
	}
	anchors, err := readAnchors(file, key.Public().(ed25519.PublicKey))
	if err != nil {
		return err
	}
	v := verifier{cmd: cmd, flags: verifyFlags{allowOpen: true}, anchors: anchors}
	if err := v.store(); err != nil {
		return err
	}
	var whole []*journal.Report
	var left, disagree []verdict
	for _, d := range v.verdicts {
		switch {
		case d.anchored:
			disagree = append(disagree, d)
		case len(d.Problems) > 0 || d.Run == nil:
			left = append(left, d)
		default:
			whole = append(whole, d.Run)
		}
	}
	if v.verdicts = disagree; len(disagree) > 0 {
		if err := v.print(); !errors.Is(err, cli.ErrReported) {
			return err
		}
		return fmt.Errorf("%s does not agree with the store, so nothing was added; if you have removed runs yourself, begin a new file", file)
	}
	var before *signing.Anchor
	if n := len(anchors); n > 0 {
		before = &anchors[n-1]
	}
	a, err := signing.NewAnchor(before, whole, key, time.Now())
	if err != nil {
		return err
	}
	if err := addAnchor(file, a); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "anchor %d: %s, signed by key %s in %s\n", a.N, cli.Count(len(a.Runs), "run"), a.Key.Short(), file); err != nil {
		return err
	}
	v.verdicts = left
	return v.print()
}

// addAnchor appends an anchor to a file and syncs it to disk.
func addAnchor(path string, a signing.Anchor) error {
	line, err := a.Line()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// readAnchors reads a file of anchors and checks its chain and, with a key, the signatures. It returns none if the file
// does not exist.
func readAnchors(path string, key ed25519.PublicKey) ([]signing.Anchor, error) {
	f, err := runstore.OpenRegular(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var anchors []signing.Anchor
	for line, err := range journal.Lines(f) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		a, err := signing.ParseAnchor(cli.TrimNewline(line))
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(anchors)+1, err)
		}
		anchors = append(anchors, a)
	}
	if err := signing.CheckAnchors(anchors, key); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return anchors, nil
}

// anchoredHead is the head of a run in an anchor, with the time of the anchor.
type anchoredHead struct {
	signing.Head
	at time.Time
}

// heads returns the anchored heads of each run, in order.
func heads(anchors []signing.Anchor) map[string][]anchoredHead {
	out := make(map[string][]anchoredHead)
	for _, a := range anchors {
		for _, h := range a.Runs {
			if said := out[h.Run]; len(said) == 0 || said[len(said)-1].Head != h {
				out[h.Run] = append(said, anchoredHead{h, a.At})
			}
		}
	}
	return out
}

// compare compares the runs of a store with the anchors.
func (v *verifier) compare(source func(run string) runstore.Source) {
	said := heads(v.anchors)
	for i := range v.verdicts {
		d := &v.verdicts[i]
		if d.Run != nil {
			d.behind(said[d.Target], hashesOf(v.cmd.Context(), source(d.Target), said[d.Target]))
		}
		delete(said, d.Target)
	}
	for _, run := range slices.Sorted(maps.Keys(said)) {
		h := said[run][len(said[run])-1]
		v.verdicts = append(v.verdicts, verdict{Target: run, State: "missing", anchored: true, Problems: []string{
			fmt.Sprintf("the run is gone; the anchor of %s says that it had %d entries", anchorTime(h.at), h.Count)}})
	}
	slices.SortStableFunc(v.verdicts, func(a, b verdict) int { return strings.Compare(a.Target, b.Target) })
}

// hashesOf returns the hashes of the entries that anchors name, by number.
func hashesOf(ctx context.Context, s runstore.Source, said []anchoredHead) map[int64]journal.Hash {
	out := make(map[int64]journal.Hash)
	if len(said) == 0 {
		return out
	}
	for e, err := range s.Entries(ctx) {
		if err != nil { // the verdict reports this error
			break
		}
		if slices.ContainsFunc(said, func(h anchoredHead) bool { return h.Count == e.Seq }) {
			out[e.Seq] = e.Hash
		}
	}
	return out
}

// behind reports entries that an anchor names and that are missing from the run.
func (d *verdict) behind(said []anchoredHead, hashes map[int64]journal.Hash) {
	for _, h := range said {
		problem := ""
		switch {
		case d.Run.Entries < h.Count:
			problem = fmt.Sprintf("rolled back to %d entries; the anchor of %s says that it had %d", d.Run.Entries, anchorTime(h.at), h.Count)
		case hashes[h.Count] != h.Head.Head:
			problem = fmt.Sprintf("replaced: entry %d is not the one that the anchor of %s has seen", h.Count, anchorTime(h.at))
		default:
			continue
		}
		d.Problems, d.State, d.anchored = append(d.Problems, problem), "broken", true
		d.OK = false
		return
	}
}

func anchorTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
