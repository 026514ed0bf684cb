package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Sync says when a [Dir] waits for the disk. A line that was written survives
// the death of the process at once; what waits for the disk also survives the
// death of the machine.
type Sync uint8

// The policies.
const (
	// SyncIntents waits for the disk before an intent, an approval or a seal
	// counts as written: whatever effect follows, the machine that comes back
	// knows of its intent. The last receipts may be lost, which makes their
	// calls ones of unknown outcome.
	SyncIntents Sync = iota
	// SyncAll waits for every entry.
	SyncAll
	// SyncNone never waits.
	SyncNone
)

// Dir is a Store of one file of JSON lines per run, RUN.jsonl, in a directory. Files
// are for their owner only. Several processes may share the directory, and even a run:
// the file is locked while a line is added. An entry that has to wait longer than 5 s
// is an error that names the process that has the lock.
//
// A line counts once its newline is written. The next Append cuts off a partial last
// line that a crash left, and records that in an entry of kind [KindTorn].
//
// The owner of a run holds a lock on RUN.owner, which names the owner. The lock ends
// with the process. On a network file system it is only as good as the locks there.
//
// Make one with [OpenDir]. It needs no closing.
type Dir struct {
	// Secrets finds the secrets to strip; nil means the known forms.
	Secrets *Secrets
	// Sync says when to wait for the disk. Like Secrets it must not be
	// changed once the store is in use.
	Sync Sync

	path string
	// flush is (*os.File).Sync; tests count it.
	flush func(*os.File) error

	mu     sync.Mutex
	runs   map[string]*dirRun
	leases map[string]*ownerFile // by token
}

// dirRun is what a process remembers of a file, to spare itself reading its
// end: as long as the size is right, so is the rest.
type dirRun struct {
	file   string        // its path
	turn   chan struct{} // full while somebody of this process writes
	size   int64
	last   Entry
	line   []byte // space for the next
	ledger ledger
	// written counts the lines of this process.
	written atomic.Int64

	flushing chan struct{} // full while somebody waits for the disk
	flushed  int64         // how many of written are on the disk
	named    bool          // the disk knows the name of the file
}

// OpenDir returns the store in the directory at path, and makes the directory,
// for its owner only, if it does not exist. It refuses a directory that others
// may write to, and a symbolic link.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("journal: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("journal: %s is not a directory", path)
	case info.Mode().Perm()&0o022 != 0 && filePermissions:
		return nil, fmt.Errorf("journal: others may write to %s (mode %04o); make it private with chmod 700", path, info.Mode().Perm())
	}
	return &Dir{path: path, flush: (*os.File).Sync, runs: make(map[string]*dirRun), leases: make(map[string]*ownerFile)}, nil
}

const (
	extension      = ".jsonl"
	ownerExtension = ".owner"
)

// File returns the path of the file that holds a run.
func (d *Dir) File(run string) string { return filepath.Join(d.path, run+extension) }

// run returns the cached state of a run.
func (d *Dir) run(name string) *dirRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[name]
	if r == nil {
		if len(d.runs) >= maxRemembered {
			for other := range d.runs { // whichever: its writers read the end again
				delete(d.runs, other)
				break
			}
		}
		r = &dirRun{file: d.File(name), turn: make(chan struct{}, 1), flushing: make(chan struct{}, 1)}
		d.runs[name] = r
	}
	return r
}

// Append implements [Store].
func (d *Dir) Append(ctx context.Context, e Entry) (Entry, error) { return d.append(ctx, e, &known{}) }

func (d *Dir) append(ctx context.Context, e Entry, k *known) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	if err := ValidRun(e.Run); err != nil {
		return Entry{}, err
	}
	if e.Lease == "" && d.ownerKnown(e.Run) {
		return appendOwned(ctx, d, e, func(e Entry) (Entry, error) { return d.appendLocked(ctx, e, k) })
	}
	return d.appendLocked(ctx, e, k)
}

// appendLocked adds a line. The caller holds the lock of the owner. Lines that wait for the disk together share a wait.
func (d *Dir) appendLocked(ctx context.Context, e Entry, k *known) (Entry, error) {
	r := d.run(e.Run)
	e, f, count, err := d.add(ctx, r, e, k)
	if f == nil {
		return e, err
	}
	defer f.Close()
	if err := d.toDisk(f, r, count); err != nil {
		return Entry{}, fmt.Errorf("journal: %w", err)
	}
	return e, nil
}

// add adds a line when it is its turn. If the line has to wait for the disk, add returns the file, unlocked, and how many
// lines this process has written.
func (d *Dir) add(ctx context.Context, r *dirRun, e Entry, k *known) (_ Entry, wait *os.File, count int64, err error) {
	if err := r.take(ctx); err != nil {
		return Entry{}, nil, 0, fmt.Errorf("journal: run %s: %w", e.Run, err)
	}
	defer func() { <-r.turn }()
	f, err := openToAppend(r.file)
	if err != nil {
		return Entry{}, nil, 0, fmt.Errorf("journal: %w", err)
	}
	defer func() {
		if wait == nil {
			f.Close() // also unlocks
		}
	}()
	if err := lock(ctx, f); err != nil {
		return Entry{}, nil, 0, fmt.Errorf("journal: lock %s: %w", f.Name(), err)
	}
	if e.Lease != "" && !d.owns(e) {
		return Entry{}, nil, 0, leaseLost(e.Run)
	}
	if err := d.catchUp(ctx, f, r, e.Run); err != nil {
		return Entry{}, nil, 0, err
	}
	if e, err = d.write(ctx, f, r, e, k); err != nil || !d.mustSync(e.Kind) {
		return e, nil, 0, err
	}
	unlock(f)
	return e, f, r.written.Load(), nil
}

func (d *Dir) ownerFile(run string) string { return filepath.Join(d.path, run+ownerExtension) }

// ownerKnown reports whether a run has an owner, or had one that died.
func (d *Dir) ownerKnown(run string) bool {
	_, err := os.Lstat(d.ownerFile(run))
	return err == nil
}

// owns reports whether the writer of e still has its lease.
func (d *Dir) owns(e Entry) bool {
	d.mu.Lock()
	o := d.leases[e.Lease]
	d.mu.Unlock()
	return o != nil && o.lease.Run == e.Run && o.inPlace()
}

// Lease implements [Leaser].
func (d *Dir) Lease(ctx context.Context, run string) (Lease, error) {
	if err := errors.Join(ctx.Err(), ValidRun(run)); err != nil {
		return Lease{}, err
	}
	o, err := holdFile(d.ownerFile(run), newLease(run))
	if err != nil {
		return Lease{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leases[o.lease.Token] = o
	return o.lease, nil
}

// Release implements [Leaser].
func (d *Dir) Release(_ context.Context, l Lease) error {
	d.mu.Lock()
	o := d.leases[l.Token]
	delete(d.leases, l.Token)
	d.mu.Unlock()
	if o == nil {
		return nil
	}
	return o.end()
}

// take waits until no other goroutine of this process writes to the run.
func (r *dirRun) take(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("other writers of this process are not done: %w", ctx.Err())
	}
}

// lockPatience bounds how long another process may lock a file. It also bounds the
// wait of entries that are written after a signal to end.
const lockPatience = 5 * time.Second

// lock waits until no other process has f locked: for the time it takes to write a
// line, unless that process was stopped.
func lock(ctx context.Context, f *os.File) error {
	if locked, err := tryLock(f); locked || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	const shortest, longest = 50 * time.Microsecond, 20 * time.Millisecond
	for wait := shortest; ; wait = min(2*wait, longest) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has it locked and does not let go; let it go on, or end it: %w", lockHolder(f), ctx.Err())
		case <-time.After(wait):
		}
		if locked, err := tryLock(f); locked || err != nil {
			return err
		}
	}
}

// write adds e after r.last.
func (d *Dir) write(ctx context.Context, f *os.File, r *dirRun, e Entry, k *known) (Entry, error) {
	line, err := e.follow(&r.last, k, d.Secrets, r.line)
	if err != nil {
		return Entry{}, err
	}
	c, err := r.ledger.admit(r.last.Seq, &e, k, func(from int64) iter.Seq2[Entry, error] { return d.Read(ctx, e.Run, from) })
	if err != nil {
		return Entry{}, err
	}
	line = append(line, '\n')
	if _, err := f.Write(line); err != nil {
		// Half a line would be cut off by the next Append; better it is gone now.
		return Entry{}, fmt.Errorf("journal: %w", errors.Join(err, f.Truncate(r.size)))
	}
	r.line = reusable(line)
	r.size += int64(len(line))
	r.last = e
	r.last.Body = nil // the next needs only what it follows
	r.ledger.learn(&e, c)
	r.written.Add(1)
	return e, nil
}

func (d *Dir) mustSync(kind Kind) bool {
	switch d.Sync {
	case SyncAll:
		return true
	case SyncIntents:
		return kind == KindIntent || kind == KindApproval || kind == KindSeal
	}
	return false
}

// toDisk waits until the first count lines of this process and, the first time, the name of the file are on the disk. One
// wait is enough for all lines that were written before it.
func (d *Dir) toDisk(f *os.File, r *dirRun, count int64) error {
	r.flushing <- struct{}{}
	defer func() { <-r.flushing }()
	if r.flushed >= count {
		return nil
	}
	all := r.written.Load()
	if err := d.flush(f); err != nil {
		return err
	}
	if !r.named && syncDirectories {
		if err := d.nameToDisk(); err != nil {
			return err
		}
		r.named = true
	}
	r.flushed = all
	return nil
}

func (d *Dir) nameToDisk() error {
	dir, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return d.flush(dir)
}

// catchUp makes r the state of the file, which is locked: another process may
// have written to it, or died in the middle of a line.
func (d *Dir) catchUp(ctx context.Context, f *os.File, r *dirRun, run string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("journal: %s is not a regular file", f.Name())
	}
	switch {
	case info.Size() == r.size:
		return nil
	case info.Size() < r.size:
		return fmt.Errorf("journal: %s has become shorter: entries were removed", f.Name())
	}
	line, torn, err := tail(f, info.Size())
	if err != nil {
		return fmt.Errorf("journal: %s: %w", f.Name(), err)
	}
	r.size, r.last = info.Size()-int64(len(torn)), Entry{}
	if len(line) > 0 {
		if r.last, err = ParseEntry(bytes.TrimSuffix(line, []byte("\n"))); err == nil && r.last.Run != run {
			err = fmt.Errorf("it belongs to run %s", r.last.Run)
		}
		if err != nil {
			r.size = -1 // look again next time
			return lastBroken("line of "+f.Name(), err)
		}
	}
	if len(torn) == 0 {
		return nil
	}
	if r.last.Kind == KindSeal {
		r.size = -1
		return fmt.Errorf("%w: %s, and %d bytes stand after the seal", ErrSealed, run, len(torn))
	}
	if err := f.Truncate(r.size); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	body, err := encode(Torn{Bytes: int64(len(torn)), Hash: hashBytes(torn)})
	if err != nil {
		return err
	}
	_, err = d.write(ctx, f, r, Entry{Run: run, Kind: KindTorn, Body: body}, &known{canonical: true})
	return err
}

// tail returns the last whole line of a file and what stands after it.
func tail(f *os.File, size int64) (line, torn []byte, err error) {
	var end []byte // of the file
	for block := int64(64 << 10); ; block *= 4 {
		from := max(size-block, 0)
		end = make([]byte, size-from)
		if _, err := f.ReadAt(end, from); err != nil {
			return nil, nil, err
		}
		cut := bytes.LastIndexByte(end, '\n') + 1
		line, torn = end[:cut], end[cut:]
		begin := bytes.LastIndexByte(bytes.TrimSuffix(line, []byte("\n")), '\n') + 1
		if begin > 0 || from == 0 {
			return line[begin:], torn, nil
		}
		if len(end) > 2*maxEntry {
			return nil, nil, fmt.Errorf("a line is longer than %d bytes", maxEntry)
		}
	}
}

// Read implements [Store]. A last line without its newline is not an entry.
func (d *Dir) Read(ctx context.Context, run string, from int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for line, err := range d.Lines(ctx, run) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			body, whole := bytes.CutSuffix(line, []byte("\n"))
			if !whole {
				return
			}
			e, err := ParseEntry(body)
			if err == nil && e.Run != run {
				err = fmt.Errorf("journal: the file holds run %s", e.Run)
			}
			if err != nil {
				yield(e, inRun(run, err))
				return
			}
			if e.Seq >= from && !yield(e, nil) {
				return
			}
		}
	}
}

// Lines yields the lines of a run as they are in the file, for [VerifyLines].
func (d *Dir) Lines(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := ValidRun(run); err != nil {
			yield(nil, err)
			return
		}
		f, err := os.OpenFile(d.File(run), os.O_RDONLY|noFollow|noWait, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err == nil {
			defer f.Close()
			err = regular(f)
		}
		if err != nil {
			yield(nil, fmt.Errorf("journal: %w", err))
			return
		}
		for line, err := range Lines(f) {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// Lines yields the lines of r with their newlines. A line longer than
// maxEntry is an error. A line is valid until the next one is asked for.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var line []byte
		for {
			piece, err := in.ReadSlice('\n')
			line = append(line, piece...)
			switch {
			case len(line) > maxEntry+1:
				yield(nil, fmt.Errorf("journal: a line is longer than %d bytes", maxEntry))
				return
			case errors.Is(err, bufio.ErrBufferFull):
				continue
			case err != nil && !errors.Is(err, io.EOF):
				yield(nil, fmt.Errorf("journal: %w", err))
				return
			}
			if len(line) > 0 && !yield(line, nil) || err != nil {
				return
			}
			line = line[:0]
		}
	}
}

// Runs implements [Lister].
func (d *Dir) Runs(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		files, err := os.ReadDir(d.path)
		if err != nil {
			yield("", fmt.Errorf("journal: %w", err))
			return
		}
		var names []string
		for _, f := range files {
			name, ok := strings.CutSuffix(f.Name(), extension)
			if ok && f.Type().IsRegular() && ValidRun(name) == nil {
				names = append(names, name)
			}
		}
		slices.Sort(names) // a.b.jsonl comes before a.jsonl in a directory
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				yield("", err)
				return
			}
			if !yield(name, nil) {
				return
			}
		}
	}
}
