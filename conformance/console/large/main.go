// Command large fills a store with requests of a gateway and with runs, and measures how long the console takes for its
// lists. It fails if the median of a list is above the limit.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"iter"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/console"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

const adminKey, token = "administrator-of-the-large-store", "token-of-the-large-store"

func main() {
	requests := flag.Int("requests", 1_000_000, "how many requests")
	runs := flag.Int("runs", 10_000, "how many runs")
	limit := flag.Duration("limit", 200*time.Millisecond, "the longest median of a list")
	lines := flag.Int("print", 0, "only print the record of an open run with so many entries")
	flag.Parse()
	if *lines > 0 {
		if err := print(context.Background(), *lines); err != nil {
			log.Fatal(err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "console-large-")
	if err != nil {
		log.Fatal(err)
	}
	err = measure(context.Background(), dir, *requests, *runs, *limit)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

func measure(ctx context.Context, dir string, requests, runs int, limit time.Duration) error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "keys.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	store, err := access.OpenSQL(ctx, db)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := fill(ctx, db, requests); err != nil {
		return err
	}
	fmt.Printf("%d requests written in %s\n", requests, time.Since(began).Round(time.Second))
	book := &access.Book{Store: store}
	for i := range 20 {
		if err := book.SetTeam(ctx, access.Team{Name: fmt.Sprintf("team-%02d", i)}, "requests/minute=600"); err != nil {
			return err
		}
	}
	admin, err := gateway.Administration{Book: book, Key: adminKey}.Handler()
	if err != nil {
		return err
	}
	api := httptest.NewServer(admin)
	defer api.Close()
	journals, err := record(ctx, runs)
	if err != nil {
		return err
	}
	pages := httptest.NewServer(&console.Console{Store: journals, Accounts: []console.Account{{Name: "ada", Permission: console.Admin, Token: token}}, Gateway: &console.AdminAPI{URL: api.URL, Key: adminKey}})
	defer pages.Close()
	return lists(pages.URL, requests, runs, limit)
}

// fill writes requests of a month: 20 teams, 1,000 users, some failures, and a team, a user and an upstream that are rare.
func fill(ctx context.Context, db *sql.DB, requests int) error {
	const batch = 5000
	start := time.Now().Add(-30 * 24 * time.Hour).UnixMilli()
	for from := 0; from < requests; from += batch {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, `INSERT INTO toolpost_request (id, at, team, key, route, model, upstream, format, status, cached, input, output, money, unpriced, estimated, took, end_user, tag, attempts)
VALUES ($1, $2, $3, $4, $5, $6, $7, 'chat', $8, 0, 900, 80, 1200, 0, 0, 700, $9, $10, $11)`)
		if err != nil {
			return err
		}
		for i := from; i < min(from+batch, requests); i++ {
			team, user, upstream, status, attempts := fmt.Sprintf("team-%02d", i%20), fmt.Sprintf("user-%03d", i%1000), fmt.Sprintf("vendor/model-%d", i%5), "ok", ""
			switch {
			case i%100 == 7:
				status, attempts = "server", `[{"upstream":"vendor/model-2","kind":"server","status":503,"error":"the server is overloaded","seconds":0.4}]`
			case i%100_000 == 3:
				team, user, upstream = "rare", "rare", "vendor/rare"
			}
			if _, err := insert.ExecContext(ctx, fmt.Sprintf("req_%08d", i), start+int64(i)*2592, team, "tp-"+team, fmt.Sprintf("route-%d", i%8), fmt.Sprintf("model-%d", i%8), upstream, status, user, fmt.Sprintf("job-%d", i%300), attempts); err != nil {
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// print writes the record of a busy run that has not ended.
func print(ctx context.Context, lines int) error {
	store := new(memory)
	rec, err := journal.Open(ctx, store, "busy")
	if err != nil {
		return err
	}
	if _, err := rec.Write(ctx, journal.KindStart, journal.Start{Task: "Count the words of every file", Model: "sim/native"}); err != nil {
		return err
	}
	for i := 1; i < lines; i++ {
		args := fmt.Appendf(nil, `{"path":"docs/page-%d.md","query":"words"}`, i)
		result := llm.Result{CallID: fmt.Sprint("c", i), Parts: []llm.Part{llm.Text{Text: strings.Repeat(fmt.Sprintf("docs/page-%d.md: 1,204 words\n", i), 8)}}}
		if _, err := rec.Receipt(ctx, journal.Receipt{Call: result.CallID, Tool: "search_files", Args: args, Status: journal.OK, LatencyMS: 4, Result: &result}); err != nil {
			return err
		}
	}
	for line, err := range store.Lines(ctx, "busy") {
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// memory is a store in memory with the lines of its runs.
type memory struct{ journal.Memory }

func (m *memory) Lines(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range m.Read(ctx, run, 1) {
			var line []byte
			if err == nil {
				line, err = e.Line()
			}
			if !yield(append(line, '\n'), err) {
				return
			}
		}
	}
}

func record(ctx context.Context, runs int) (*memory, error) {
	store := new(memory)
	for i := range runs {
		rec, err := journal.Open(ctx, store, fmt.Sprintf("202611%02d-120000-%06d", i%28+1, i))
		if err != nil {
			return nil, err
		}
		if _, err := rec.Write(ctx, journal.KindStart, journal.Start{Task: fmt.Sprintf("task %d", i), Model: fmt.Sprintf("model-%d", i%7)}); err != nil {
			return nil, err
		}
		if _, err := rec.Receipt(ctx, journal.Receipt{Call: "c", Tool: fmt.Sprintf("tool_%d", i%5), Args: []byte(`{}`), Status: journal.OK}); err != nil {
			return nil, err
		}
		if _, err := rec.Seal(ctx); err != nil {
			return nil, err
		}
	}
	return store, nil
}

// lists reads each list several times.
func lists(base string, requests, runs int, limit time.Duration) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar}
	form, err := http.NewRequest(http.MethodPost, base+"/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		return err
	}
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	form.Header.Set("Origin", base)
	resp, err := client.Do(form)
	if err != nil {
		return err
	}
	resp.Body.Close()
	get := func(path string) (body string, took time.Duration, err error) {
		began := time.Now()
		resp, err := client.Get(base + path)
		if err != nil {
			return "", 0, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", path, resp.Status)
		}
		return string(text), time.Since(began), err
	}
	for read := false; !read; time.Sleep(20 * time.Millisecond) { // until all runs are read
		body, _, err := get("/")
		if err != nil {
			return err
		}
		read = strings.Contains(body, fmt.Sprintf("of %d runs", runs))
	}
	slow := 0
	for _, path := range []string{"/", "/?tool=tool_3&model=model-2", "/?q=task+4", fmt.Sprintf("/?from=%d", runs/2), "/approvals",
		"/gateway/requests", "/gateway/requests?status=failed", "/gateway/requests?team=team-04", "/gateway/requests?user=rare", "/gateway/requests?upstream=vendor/rare", "/gateway/requests?tag=job-7&status=failed",
		"/gateway/requests?team=team-07&upstream=vendor/model-2", "/gateway/requests?user=nobody", fmt.Sprintf("/gateway/requests?before=req_%08d", requests/2), fmt.Sprintf("/gateway/requests?status=failed&before=req_%08d", requests/3), fmt.Sprintf("/gateway/requests/req_%08d", requests/4)} {
		var all []time.Duration
		size := 0
		for range 9 {
			body, took, err := get(path)
			if err != nil {
				return err
			}
			all, size = append(all, took), len(body)
		}
		slices.Sort(all)
		fmt.Printf("%-55s median %8s  longest %8s  %4d kB\n", path, all[4].Round(100*time.Microsecond), all[8].Round(100*time.Microsecond), size>>10)
		if all[4] > limit || size > 300<<10 {
			slow++
		}
	}
	if slow > 0 {
		return fmt.Errorf("%d lists are slower than %s or larger than 300 kB", slow, limit)
	}
	return nil
}
