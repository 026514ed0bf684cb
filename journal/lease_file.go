package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// ownerFile is a lease that the system keeps: a file that is locked as long as
// its owner holds it open. The lock ends with the process, however that ends,
// and not before; a process that was stopped keeps it. The file says who the
// owner is. It is removed with the lease, and what a crash left is taken over.
type ownerFile struct {
	lease Lease
	path  string
	file  *os.File
	info  fs.FileInfo // of the file, which stays the same while it is open
}

// holdFile takes a lease with the file at path, or returns a *HeldError.
func holdFile(path string, l Lease) (*ownerFile, error) {
	for range 100 { // each time another owner removed the file between two of our steps
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow|noWait, 0o600)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("journal: %w", err)
		}
		o := &ownerFile{lease: l, path: path, file: f, info: info}
		locked, err := o.lock()
		if locked {
			return o, nil
		}
		if err == nil && o.inPlace() { // else the owner has just let go
			err = &HeldError{l.Run, readOwner(f)}
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("journal: %s comes and goes; try again", path)
}

// lock locks the file and writes the owner into it, unless another has it locked
// or it is no longer the file at the path.
func (o *ownerFile) lock() (bool, error) {
	if err := regular(o.file); err != nil {
		return false, fmt.Errorf("journal: %w", err)
	}
	locked, err := tryLock(o.file)
	if err != nil {
		return false, fmt.Errorf("journal: lock %s: %w", o.path, err)
	}
	if !locked || !o.inPlace() {
		return false, nil
	}
	b, err := json.Marshal(o.lease.Owner)
	if err == nil {
		err = o.file.Truncate(0)
	}
	if err == nil {
		_, err = o.file.WriteAt(append(b, '\n'), 0)
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("journal: %w", err), o.end())
	}
	return true, nil
}

// inPlace reports whether the file is still the one at its path: who removes it
// ends the lease.
func (o *ownerFile) inPlace() bool {
	there, err := os.Lstat(o.path)
	return err == nil && os.SameFile(o.info, there)
}

// end lets the run go.
func (o *ownerFile) end() error {
	var err error
	if o.inPlace() {
		if err = os.Remove(o.path); errors.Is(err, fs.ErrNotExist) || !filePermissions { // Windows does not remove an open file
			err = nil
		}
	}
	return errors.Join(err, o.file.Close())
}

// readOwner returns the owner of the lock on f. The owner writes that down right after
// locking, so it may take a moment.
func readOwner(f *os.File) Owner {
	for range 20 {
		b, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
		var o Owner
		if err == nil && json.Unmarshal(b, &o) == nil && o.Process != 0 {
			return o
		}
		time.Sleep(time.Millisecond)
	}
	return Owner{}
}

// regular refuses a pipe or a device in the place of a file: reading it might
// never end.
func regular(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", f.Name())
	}
	return err
}
