package receipts

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/internal/export"
	"github.com/toolpost/toolpost/internal/signing"
	"github.com/toolpost/toolpost/journal"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	key, sig, anchor  string
	allowOpen, asJSON bool
}

func newReceiptsVerify() *cobra.Command {
	var flags verifyFlags
	cmd := &cobra.Command{
		Use:   "verify [RUN|FILE|DIR]...",
		Short: "Find entries that were changed, removed, added or moved",
		Long: `Check that runs are what was written, and say which entry is not.

A run is sealed, open (it has not ended, so its end may be missing: exit code 1 unless
--allow-open), empty (nothing was recorded; only an anchor shows that there was), broken, newer (written by a newer version of toolpost, in a format this one
does not know) or unread. A DIR is a directory of runs or an export; of exported files it
is checked that they agree. Without arguments all runs of the store are verified.

Whoever can write to a run can replace it by another one that verifies. With --key the
run must also be signed with that key: see 'toolpost receipts sign'. With --anchor the
runs of the store must be all there, and at least as long as when they were anchored; the
key is then that of the anchors: see 'toolpost receipts anchor'.`,
		Example: `  toolpost receipts verify RUN
  toolpost receipts verify --key audit.key.pub RUN
  toolpost receipts verify --anchor anchors.jsonl --key audit.key.pub
  toolpost receipts verify --json export/`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return verifyTargets(cmd, args, flags) },
	}
	cmd.Flags().BoolVar(&flags.allowOpen, "allow-open", false, "accept runs that are still open")
	cmd.Flags().StringVar(&flags.key, "key", "", "the public key `FILE` that must have signed each run")
	cmd.Flags().StringVar(&flags.anchor, "anchor", "", "the `FILE` of anchors that the runs of the store must agree with")
	cmd.Flags().StringVar(&flags.sig, "sig", "", "the `FILE` of signatures (default: next to the run)")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON array")
	return cmd
}

// verdict is the result of verify for one target.
type verdict struct {
	Target string `json:"target"`
	State  string `json:"state"` // sealed, open, empty, broken, newer, unread, missing; of an export: agrees, open, broken
	OK     bool   `json:"ok"`
	// anchored means that an anchor has more entries than the run.
	anchored bool
	// Problems describes the failures.
	Problems []string            `json:"problems,omitempty"`
	Notes    []string            `json:"notes,omitempty"`
	Run      *journal.Report     `json:"run,omitempty"`
	Export   *export.Report      `json:"export,omitempty"`
	Signers  []signing.Signature `json:"signatures,omitempty"`
}

func verifyTargets(cmd *cobra.Command, targets []string, flags verifyFlags) error {
	v := verifier{cmd: cmd, flags: flags}
	if flags.sig != "" && len(targets) != 1 {
		return cli.Usagef(cmd, "--sig needs exactly one run")
	}
	if flags.key != "" {
		text, err := cli.ReadFile(flags.key, maxKey)
		if err != nil {
			return err
		}
		if v.key, err = signing.ParsePublicKey(text); err != nil {
			return fmt.Errorf("%s: %w", flags.key, err)
		}
	}
	if err := v.readAnchors(targets); err != nil {
		return err
	}
	var err error
	if len(targets) == 0 {
		err = v.store()
	}
	for _, t := range targets {
		if err = errors.Join(err, v.target(t)); err != nil {
			break
		}
	}
	if err != nil {
		return err
	}
	return v.print()
}

type verifier struct {
	cmd      *cobra.Command
	flags    verifyFlags
	key      ed25519.PublicKey // nil: signatures are not checked
	anchors  []signing.Anchor
	verdicts []verdict
}

// readAnchors reads the file of --anchor. The --key then checks the anchors, not the runs.
func (v *verifier) readAnchors(targets []string) (err error) {
	if v.flags.anchor == "" {
		return nil
	}
	if len(targets) > 0 {
		return cli.Usagef(v.cmd, "--anchor is about all runs of the store; name none")
	}
	if v.anchors, err = readAnchors(v.flags.anchor, v.key); err != nil {
		return err
	}
	if len(v.anchors) == 0 {
		return fmt.Errorf("%s holds no anchors; 'toolpost receipts anchor' writes them", v.flags.anchor)
	}
	last := v.anchors[len(v.anchors)-1]
	signed := "signed by key " + last.Key.Short()
	if v.key == nil {
		signed += ", not checked: name the key with --key"
	}
	fmt.Fprintf(v.cmd.ErrOrStderr(), "anchor %d of %s, %s\n", last.N, anchorTime(last.At), signed)
	v.key = nil
	return nil
}

// target verifies a target of any type.
func (v *verifier) target(target string) error {
	src, path, done, err := runstore.FindTarget(v.cmd, target)
	if wrong := new(cli.UsageError); errors.As(err, wrong) || v.cmd.Context().Err() != nil {
		return err
	}
	if err != nil {
		v.unread(target, err)
		return nil
	}
	defer done()
	if src != nil {
		return v.run(target, *src)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return v.directory(path)
	}
	if dir, isExport := exportOf(path); isExport {
		return v.export(dir)
	}
	return v.run(path, runstore.FromFile(path))
}

// store verifies all runs of the store.
func (v *verifier) store() error {
	store, done, err := runstore.Open(v.cmd, false)
	if err != nil {
		return err
	}
	defer done()
	for run, err := range store.Runs(v.cmd.Context()) {
		if err != nil {
			return err
		}
		if err := v.run(run, runstore.FromStore(store, run)); err != nil {
			return err
		}
	}
	if dir, ok := store.(*journal.Dir); ok {
		if err := v.irregular(filepath.Dir(dir.File("any"))); err != nil {
			return err
		}
	}
	if v.anchors != nil {
		v.compare(func(run string) runstore.Source { return runstore.FromStore(store, run) })
	}
	return nil
}

// irregular reports the pipes, devices, sockets, links and folders in a store: a store does not list them. With the name
// of a run, such an entry counts as a run that cannot be read.
func (v *verifier) irregular(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		run, isRun := strings.CutSuffix(e.Name(), ".jsonl")
		switch {
		case e.Type().IsRegular() || e.IsDir() && !isRun:
		case isRun:
			v.unread(run, fmt.Errorf("%s is not a regular file", filepath.Join(dir, e.Name())))
		default:
			fmt.Fprintf(v.cmd.ErrOrStderr(), "note: %s is not a regular file\n", cli.OneLine(filepath.Join(dir, e.Name()), 300))
		}
	}
	return nil
}

// directory verifies an export, or all runs in a directory.
func (v *verifier) directory(dir string) error {
	for _, name := range []string{export.ReplayFile, export.ReceiptFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return v.export(dir)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s holds neither runs nor an export", dir)
	}
	slices.Sort(files)
	for _, f := range files {
		if err := v.run(f, runstore.FromFile(f)); err != nil {
			return err
		}
	}
	return nil
}

// unread adds the verdict for a run that cannot be read.
func (v *verifier) unread(target string, err error) {
	d := verdict{Target: target, State: "unread", Problems: []string{strings.TrimPrefix(err.Error(), "journal: ")}}
	if newer := new(journal.FormatError); errors.As(err, &newer) {
		d.State = "newer"
	}
	v.verdicts = append(v.verdicts, d)
}

// run verifies one run and its signatures. A run that cannot be read does not stop the verification of the others.
func (v *verifier) run(target string, src runstore.Source) error {
	report, err := journal.VerifyLines(src.Lines(v.cmd.Context()))
	if broken := new(journal.BrokenError); err != nil && !errors.As(err, &broken) {
		if ctxErr := v.cmd.Context().Err(); ctxErr != nil {
			return ctxErr
		}
		v.unread(target, err)
		return nil
	}
	if src.Run != "" && report.Run != "" && report.Run != src.Run {
		report.Faults = append(report.Faults, journal.Fault{Kind: "changed", Detail: "all of it: this is run " + report.Run + ", in the place of " + src.Run})
	}
	if target == runstore.Latest && src.Run != "" {
		target = src.Run
	}
	d := verdict{Target: target, State: report.State(), Run: report}
	if src.Run == "" && report.Run != src.Name && report.Run != "" {
		d.Notes = append(d.Notes, "the file holds run "+report.Run)
	}
	d.explain(report, src.Run != "")
	if v.flags.sig != "" {
		src.Sig = v.flags.sig
	}
	if err := v.signatures(&d, src.Sig); err != nil {
		d.Problems = append(d.Problems, "the signatures cannot be read: "+err.Error())
	}
	nothing := src.Run != "" && report.Entries == 0 && len(report.Faults) == 0
	if nothing { // a disk that was full leaves such files, and they hold no statement that could be wrong
		d.State = "empty"
	}
	d.OK = len(d.Problems) == 0 && (report.Sealed || nothing || v.flags.allowOpen)
	v.verdicts = append(v.verdicts, d)
	return nil
}

// explain adds the findings of a report to the verdict.
func (d *verdict) explain(report *journal.Report, stored bool) {
	for _, f := range report.Faults {
		d.Problems = append(d.Problems, f.String())
	}
	if report.Entries == 0 && len(report.Faults) == 0 {
		if stored {
			d.Notes = append(d.Notes, "nothing was recorded; the disk may have been full")
		} else if report.Torn == 0 {
			d.Problems = append(d.Problems, "there are no entries")
		}
	}
	if d.State == "open" && report.Entries > 0 {
		d.Notes = append(d.Notes, "the run has not ended, or its end was cut off")
	}
	if report.Torn > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("torn: the last %d bytes are a line that was never finished", report.Torn))
	}
	for _, in := range report.Unknown {
		d.Notes = append(d.Notes, fmt.Sprintf("outcome unknown: %s (call %s) was begun and has no receipt", in.Tool, in.Call))
	}
	if report.Stripped > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("stripped: secrets were taken out of %d entries", report.Stripped))
	}
}

// signatures checks the signatures of the run.
func (v *verifier) signatures(d *verdict, file string) error {
	sigs, err := readSignatures(file)
	if err != nil {
		return err
	}
	d.Signers = sigs
	if v.key == nil {
		for _, s := range sigs {
			if err := s.About(d.Run); err != nil { // whoever signed, it was something else
				d.Problems = append(d.Problems, strings.TrimPrefix(err.Error(), "journal: "))
				continue
			}
			d.Notes = append(d.Notes, fmt.Sprintf("signed by key %s, not checked: name the key with --key", s.Key.Short()))
		}
		return nil
	}
	failed := "nobody signed it"
	for _, s := range sigs {
		err := s.Check(d.Run, v.key)
		if err == nil {
			d.Notes = append(d.Notes, fmt.Sprintf("signed by key %s at %s", s.Key.Short(), s.At.Format("2006-01-02 15:04:05 MST")))
			return nil
		}
		failed = strings.TrimPrefix(err.Error(), "journal: ")
	}
	d.Problems = append(d.Problems, "not signed by the key of "+v.flags.key+": "+failed)
	return nil
}

// exportOf returns the directory of a file that belongs to an export.
func exportOf(file string) (dir string, ok bool) {
	f, err := runstore.OpenRegular(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxExport))
	if err != nil {
		return "", false
	}
	replay, receipt := export.Looks(text)
	name := filepath.Base(file)
	return filepath.Dir(file), replay && name == export.ReplayFile || receipt && name == export.ReceiptFile
}

// maxExport limits the size of a file of an export.
const maxExport = 1 << 30

func (v *verifier) export(dir string) error {
	replay, err := readOptional(filepath.Join(dir, export.ReplayFile))
	if err != nil {
		v.unread(dir, err)
		return nil
	}
	receipt, err := readOptional(filepath.Join(dir, export.ReceiptFile))
	if err != nil {
		v.unread(dir, err)
		return nil
	}
	summary, err := readOptional(filepath.Join(dir, export.SummaryFile))
	if err != nil {
		v.unread(dir, err)
		return nil
	}
	r := export.Verify(replay, receipt)
	if receipt != nil && summary != nil { // without it the files say nothing that is wrong
		r.CheckSummary(receipt, summary)
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{export.ReplayFile, replay}, {export.ReceiptFile, receipt}} {
		if file.data == nil {
			r.Problems = append(r.Problems, file.name+" is missing")
		}
	}
	d := verdict{Target: dir, State: "agrees", Problems: r.Problems, Export: r}
	for _, id := range r.Unknown {
		d.Notes = append(d.Notes, fmt.Sprintf("outcome unknown: call %s has no result", id))
	}
	switch {
	case len(r.Problems) > 0:
		d.State = "broken"
	case replay != nil && !r.Ended:
		d.State = "open"
		d.Notes = append(d.Notes, "the run had not ended when it was exported, or its end was cut off")
	}
	if v.key != nil {
		d.Problems = append(d.Problems, "an export has no chain to check a signature of; verify the run itself with --key")
	}
	d.OK = len(d.Problems) == 0 && (d.State == "agrees" || v.flags.allowOpen)
	v.verdicts = append(v.verdicts, d)
	return nil
}

// readOptional returns the content of a file, nil if it does not exist.
func readOptional(path string) ([]byte, error) {
	f, err := runstore.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxExport+1))
	if err == nil && len(b) > maxExport {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxExport)
	}
	if b == nil {
		b = []byte{}
	}
	return b, err
}

// print prints all verdicts. It fails if any is not OK.
func (v *verifier) print() error {
	out := v.cmd.OutOrStdout()
	failed := false
	colour := cli.Colours(out)
	var b bytes.Buffer
	for _, d := range v.verdicts {
		failed = failed || !d.OK
		line := fmt.Sprintf("%s  %s", colour.State(fmt.Sprintf("%-6s", d.State)), d.Target)
		if facts := d.facts(); facts != "" {
			line += "  " + colour.Dim(facts)
		}
		fmt.Fprintln(&b, line)
		for _, p := range d.Problems {
			fmt.Fprintf(&b, "        %s\n", colour.Red(cli.OneLine(p, 300)))
		}
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "        %s\n", cli.OneLine(n, 300))
		}
	}
	var err error
	if v.flags.asJSON {
		err = cli.PrintJSON(out, v.verdicts)
	} else {
		_, err = out.Write(b.Bytes())
	}
	if err == nil && failed {
		err = cli.ErrReported
	}
	return err
}

// facts returns the figures of a verdict.
func (d verdict) facts() string {
	if d.Export != nil {
		return fmt.Sprintf("export of session %s, format %s, %d calls", d.Export.Session, d.Export.Format, d.Export.Calls)
	}
	if d.Run == nil {
		return ""
	}
	return fmt.Sprintf("%d entries, head %s", d.Run.Entries, d.Run.Head.Short())
}
