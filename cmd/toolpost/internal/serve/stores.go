package serve

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	keyscmd "github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/state"
)

const (
	stateEnv = keyscmd.StateEnv
	inMemory = keyscmd.InMemory
)

// AdminKeyEnv is the variable with the administrators' key.
const AdminKeyEnv = "TOOLPOST_ADMIN_KEY"

// The defaults of keysConfig, and the interval for cleaning the log.
const (
	defaultRetention = 30 * 24 * time.Hour
	cleanEvery       = time.Hour
)

// publicFlag lets a gateway without keys listen on a public address.
const publicFlag = "let-anyone-use-it"

// guards holds the keys and the state of a running gateway.
type guards struct {
	book  *access.Book // nil if no keys are needed
	state state.Store  // nil means in memory
	files []storeFile
	done  func()
}

// openGuards opens the keys of a gateway, if it has any, and its state. The caller calls done.
func openGuards(cmd *cobra.Command, c *settings.GatewayConfig) (guards, error) {
	name, err := keyscmd.StoreName(cmd, c)
	if err != nil {
		return guards{}, err
	}
	var opened []*sql.DB
	g := guards{done: func() {
		for _, db := range opened {
			db.Close()
		}
	}}
	open := func(name string) (db *sql.DB, err error) {
		if db, err = keyscmd.OpenDatabase(name, true, runstore.ServedBusy); err == nil {
			opened = append(opened, db)
			g.watch(name)
		}
		return db, err
	}
	err = keyscmd.ExplainError(cmd, g.open(cmd.Context(), name, cmp.Or(os.Getenv(stateEnv), c.Keys.State, name), open))
	if err != nil {
		g.done()
	}
	return g, err
}

// storeFile is a SQLite file that a gateway has open.
type storeFile struct {
	name string
	was  os.FileInfo
}

// watch records the file of a SQLite database.
func (g *guards) watch(name string) {
	if file, ok := strings.CutPrefix(name, "sqlite:"); ok {
		if was, err := os.Stat(file); err == nil {
			g.files = append(g.files, storeFile{file, was})
		}
	}
}

// has reports whether a SQLite database is open, under any name.
func (g *guards) has(name string) bool {
	file, ok := strings.CutPrefix(name, "sqlite:")
	if !ok {
		return false
	}
	now, err := os.Stat(file)
	return slices.ContainsFunc(g.files, func(f storeFile) bool { return f.name == file || err == nil && os.SameFile(f.was, now) })
}

// lost returns the files that were removed or replaced. Data that is written to them now is lost when the gateway ends,
// and other programs do not see it.
func (g *guards) lost() (names []string) {
	for _, f := range g.files {
		if now, err := os.Stat(f.name); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(f.was, now) {
			names = append(names, f.name)
		}
	}
	return names
}

// open opens the databases of keys and state. If both have the same name, the database is opened once.
func (g *guards) open(ctx context.Context, keys, remembered string, open func(string) (*sql.DB, error)) error {
	var db *sql.DB
	var err error
	if keys != "" {
		if db, err = open(keys); err != nil {
			return err
		}
		if remembered == keys { // one of the two that is refused must leave the other unchanged
			if err := state.CheckSQL(ctx, db); err != nil {
				return settings.NamingNewer(keys, fmt.Errorf("gateway: %w", err))
			}
		}
		if g.book, err = keyscmd.BookIn(ctx, db); err != nil {
			return settings.NamingNewer(keys, err)
		}
	}
	if remembered == "" || remembered == inMemory {
		return nil
	}
	if remembered != keys {
		if db, err = open(remembered); err != nil {
			return fmt.Errorf("gateway: state: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, keyscmd.Patience)
	defer cancel()
	store, err := state.OpenSQL(ctx, db)
	if err != nil {
		return settings.NamingNewer(remembered, fmt.Errorf("gateway: %w", err))
	}
	g.state = store
	return nil
}

// onlyHere restricts a gateway on a loopback address to clients of this machine. With keys it allows any client with a
// key, including clients of a local proxy that forwards their Host header.
func onlyHere(addr string, keys bool, next http.Handler) http.Handler {
	switch {
	case listen.Loopback(addr) != nil:
		return next
	case keys:
		return gateway.NoOtherOrigins(next)
	}
	return gateway.LocalOnly(next)
}

// attend maintains the keys of a gateway until ctx is done. It deletes old log entries and serves the administration
// API. unread limits how long a client may leave a part of a response unread.
func (v *serving) attend(ctx context.Context, c settings.KeysConfig, unread time.Duration) (wait func() error, err error) {
	book := v.guards.book
	if book == nil {
		return func() error { return nil }, nil
	}
	keep := defaultRetention
	if c.Retention > 0 {
		keep = max(c.Retention, cleanEvery)
	}
	go func() {
		for {
			if err := book.Clean(ctx, keep); err != nil && ctx.Err() == nil {
				v.log.Error("the log of requests cannot be cleaned", "error", err.Error())
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(cleanEvery):
			}
		}
	}()
	if c.AdminAddr == "" {
		return func() error { return nil }, nil
	}
	return v.administrate(ctx, c, unread)
}

// administrate serves the administration API until ctx is done.
func (v *serving) administrate(ctx context.Context, c settings.KeysConfig, unread time.Duration) (wait func() error, err error) {
	key := os.Getenv(AdminKeyEnv)
	if key == "" {
		return nil, fmt.Errorf("gateway: admin_addr needs a key for administrators in %s", AdminKeyEnv)
	}
	handler, err := gateway.Administration{Book: v.guards.book, Live: v.live, Key: strings.TrimSpace(key), Hosts: c.AdminHosts, WriteTime: unread}.Handler()
	if err != nil {
		return nil, err
	}
	listener, err := listen.On(c.AdminAddr)
	if err != nil {
		return nil, fmt.Errorf("admin_addr: %w", err)
	}
	v.announce(v.cmd.ErrOrStderr(), "administrators on", "http://"+listener.Addr().String())
	all, done, err := v.withConsole(handler, listener.Addr())
	if err != nil {
		listener.Close()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		defer done()
		ended <- listen.Serve(ctx, listener, all)
	}()
	return func() error { return <-ended }, nil
}
