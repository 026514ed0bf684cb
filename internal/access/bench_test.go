package access_test

import (
	"database/sql"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/internal/access"
)

// BenchmarkRequest measures the cost of concurrent requests in each store: finding the key, admission and settlement.
func BenchmarkRequest(b *testing.B) {
	for kind, open := range map[string]func(*testing.B) access.Store{"memory": func(*testing.B) access.Store { return new(access.Memory) }, "sqlite": inFile} {
		b.Run(kind, func(b *testing.B) {
			book := &access.Book{Store: open(b)}
			_, secret, err := book.Create(b.Context(), access.Key{Team: "red", Limits: []access.Quota{{Unit: access.Money, Per: access.Day, Most: 1 << 50}}})
			if err != nil {
				b.Fatal(err)
			}
			var n atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					g, err := book.Authenticate(b.Context(), secret)
					if err != nil {
						b.Error(err)
						return
					}
					a, err := book.Admit(b.Context(), g, access.Claim{ID: strconv.FormatInt(n.Add(1), 10), Model: "m", Tokens: 100, Money: 100})
					if err != nil {
						b.Error(err)
						return
					}
					if err := book.Settle(b.Context(), a, access.LogLine{Status: "ok", Input: 50, Output: 50, Money: 90}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// inFile opens a store in a file.
func inFile(b *testing.B) access.Store {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(b.TempDir(), "keys.db"))+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	s, err := access.OpenSQL(b.Context(), db)
	if err != nil {
		b.Fatal(err)
	}
	return s
}
