package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/internal/testkit"
)

var binary string // the current build

func TestMain(m *testing.M) {
	program, err := testkit.BuildCached("../../cmd/toolpost")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = program
	os.Exit(m.Run())
}

// set is a copy of a folder of testdata/compat.
type set struct {
	*program
	t     *testing.T
	facts facts
}

// eachSet runs a test on a copy of every folder.
func eachSet(t *testing.T, f func(t *testing.T, s *set)) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the tool of the recorded runs needs a shell")
	}
	folders, err := filepath.Glob("../../testdata/compat/*/facts.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("there are no folders, error %v", err)
	}
	for _, file := range folders {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			s := &set{program: &program{ctx: t.Context(), bin: binary, dir: t.TempDir()}, t: t}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &s.facts); err != nil {
				t.Fatal(err)
			}
			sim, err := s.open(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(sim.stop)
			f(t, s)
		})
	}
}

// ok runs a command that must end with 0 and print every text.
func (s *set) ok(texts []string, args ...string) string {
	s.t.Helper()
	code, out, errOut, err := s.command(args...)
	if err != nil || code != 0 {
		s.t.Fatalf("%v: exit code %d, error %v\n%s%s", args, code, err, out, errOut)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			s.t.Errorf("%v does not print %q:\n%s%s", args, text, out, errOut)
		}
	}
	return out
}

// database opens the copy of a database of SQLite.
func (s *set) database(name string) *sql.DB {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return db
}

// postgres loads the dump into a schema, and returns its address.
func (s *set) postgres() (string, *sql.DB) {
	s.t.Helper()
	address := pgtest.Schema(s.t, pgtest.Server(s.t))
	text, err := os.ReadFile(filepath.Join(s.dir, "postgres.sql"))
	if err != nil {
		s.t.Fatal(err)
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { db.Close() })
	if _, err := db.Exec(string(text)); err != nil {
		s.t.Fatal(err)
	}
	return address, db
}

// delivered returns the number of runs of the tool in this copy.
func (s *set) delivered() int {
	text, err := os.ReadFile(filepath.Join(s.dir, "delivered"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func TestJournalInFolder(t *testing.T) {
	eachSet(t, func(t *testing.T, s *set) { s.journal("runs", "folder") })
}

func TestJournalInSQLite(t *testing.T) {
	eachSet(t, func(t *testing.T, s *set) { s.journal("sqlite:runs.db", "sqlite") })
}

// journal reads and verifies the runs of a journal, approves the waiting run and resumes it.
func (s *set) journal(journal, kind string) {
	s.t.Helper()
	ids := s.facts.Journals[kind]
	store := []string{"--journal", journal}
	s.ok([]string{ids.Done, ids.Waiting}, append([]string{"receipts", "list", "--json"}, store...)...)
	s.ok([]string{"sealed"}, append([]string{"receipts", "verify", ids.Done}, store...)...)
	s.ok(nil, append([]string{"receipts", "verify", "--allow-open", ids.Waiting}, store...)...)
	s.ok([]string{"Done.", "deliver"}, append([]string{"receipts", "show", ids.Done}, store...)...)
	s.ok(nil, append([]string{"receipts", "export", ids.Done, "--out", "export"}, store...)...)
	s.ok([]string{ids.Waiting, `"deliver"`}, append([]string{"runs", "list", "--json"}, store...)...)
	approve := append([]string{"runs", "approve", ids.Waiting, "--by", "ada"}, store...)
	resume := runArgs(journal, "--later", "--root", ".", "--tools", "tools.yaml", "--resume", ids.Waiting)
	s.ok(nil, approve...)
	// The question on record does not bind the approval to what the call acts on, so a person is asked once more.
	if _, out, errOut, err := s.command(resume...); err != nil || !strings.Contains(out, `"status":"pending"`) || !strings.Contains(out, "an earlier version asked") {
		s.t.Errorf("%v: error %v\n%s%s", resume, err, out, errOut)
	}
	s.ok(nil, approve...)
	if n := s.delivered(); n != 0 {
		s.t.Fatalf("before the bound approval, the tool has run %d times", n)
	}
	s.ok([]string{`"status":"finished"`, "Done."}, resume...)
	if n := s.delivered(); n != 1 {
		s.t.Errorf("the tool has run %d times", n)
	}
	s.ok([]string{"sealed"}, append([]string{"receipts", "verify", ids.Waiting}, store...)...)
	s.ok(nil, runArgs(journal, "--yes", "Deliver it to Oslo.")...) // the store takes new runs
}

func TestGatewayWithSQLite(t *testing.T) {
	eachSet(t, func(t *testing.T, s *set) {
		db := s.database("keys.db")
		s.extend(db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s.gateway("gateway.yaml", "gateway-runs", "sqlite:keys.db", "sqlite")
	})
}

func TestPostgres(t *testing.T) {
	eachSet(t, func(t *testing.T, s *set) {
		address, db := s.postgres()
		s.journal(address, "postgres")
		s.extend(db)
		if err := os.Remove(filepath.Join(s.dir, "delivered")); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join("../../testdata/compat", filepath.Base(t.Name()), "gateway.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, "postgres.yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.settle("postgres.yaml", address, address); err != nil {
			t.Fatal(err)
		}
		s.gateway("postgres.yaml", address, address, "postgres")
	})
}

// extend keeps the state of the gateway from expiring: the copies are older than it lives.
func (s *set) extend(db *sql.DB) {
	s.t.Helper()
	if _, err := db.Exec(`UPDATE toolpost_state SET until_at = $1`, time.Now().Add(time.Hour).UnixMicro()); err != nil {
		s.t.Fatal(err)
	}
}

// gateway reads keys and usage, and sends requests with the old keys.
func (s *set) gateway(config, journal, keys, kind string) {
	s.t.Helper()
	f := s.facts.Keys[kind]
	s.ok(nil, "serve", "--check", "--config", config)
	s.ok(keyNames, "keys", "list", "--json", "--keys", keys)
	s.ok([]string{"research", "sales"}, "usage", "--json", "--keys", keys)
	s.ok([]string{`"plain"`}, "usage", "--by", "request", "--json", "--keys", keys)
	s.ok([]string{s.facts.Approved[kind], s.facts.Expired[kind]}, "receipts", "list", "--json", "--journal", journal)
	s.ok(nil, "receipts", "verify", "--allow-open", s.facts.Approved[kind], "--journal", journal)
	server, err := s.start("serve", "--addr", "127.0.0.1:0", "--config", config)
	if err != nil {
		s.t.Fatal(err)
	}
	defer server.stop()
	if _, _, err := post(server.address+"/v1/chat/completions", f.Revoked, `{"model":"plain","messages":[{"role":"user","content":"Hello"}]}`); err == nil || !strings.Contains(err.Error(), "401") {
		s.t.Errorf("the revoked key: %v", err)
	}
	if _, _, err := post(server.address+"/v1/responses", f.Key, fmt.Sprintf(`{"model":"plain","input":"Who am I?","previous_response_id":%q}`, f.Response)); err != nil {
		s.t.Errorf("the stored response: %v", err)
	}
	if _, _, err := post(server.address+"/v1/responses", f.Other, fmt.Sprintf(`{"model":"plain","input":"Who am I?","previous_response_id":%q}`, f.Response)); err == nil {
		s.t.Error("another team continues the stored response")
	}
	if _, _, err := post(server.address+"/v1/chat/completions", f.Other, askBody); err != nil || s.delivered() != 0 {
		s.t.Errorf("the call that nobody approved: error %v, it ran %d times", err, s.delivered())
	}
	// As in a journal, a person is asked once more about the call that an earlier version asked about.
	if _, _, err := post(server.address+"/v1/chat/completions", f.Key, askBody); err != nil || s.delivered() != 0 {
		s.t.Errorf("the call with an approval of an earlier version: error %v, it ran %d times", err, s.delivered())
	}
	s.ok(nil, "runs", "approve", s.facts.Approved[kind], "--by", "ada", "--journal", journal)
	for range 2 {
		if _, _, err := post(server.address+"/v1/chat/completions", f.Key, askBody); err != nil || s.delivered() != 1 {
			s.t.Errorf("the approved call: error %v, it ran %d times", err, s.delivered())
		}
	}
	s.ok([]string{"sealed"}, "receipts", "verify", s.facts.Approved[kind], "--journal", journal)
}

func TestSettings(t *testing.T) {
	eachSet(t, func(t *testing.T, s *set) {
		s.ok(nil, "config", "check", "--config", "config.yaml")
		s.ok([]string{"12"}, "config", "show", "max_turns", "--config", "config.yaml")
		s.ok([]string{"32768", "house-model-9b"}, "models", "show", "--explain", "house-model-9b")
		s.ok([]string{`"dialect": "hermes_json"`, "4096"}, "models", "show", "--json", "acme/support-bot")
		s.ok([]string{"16384"}, "models", "show", "--json", "ollama/qwen3:8b")
		s.ok([]string{"deliver"}, "tools", "list", "--tools", "tools.yaml")
	})
}

// refused runs a command that must fail with one sentence that names the store, and changes nothing.
func (s *set) refused(place string, args ...string) {
	s.t.Helper()
	code, out, errOut, err := s.command(args...)
	line := strings.TrimSpace(errOut)
	if err != nil || code == 0 || out != "" && !strings.Contains(strings.Join(args, " "), "verify") {
		s.t.Errorf("%v: exit code %d, error %v\n%s%s", args, code, err, out, errOut)
	}
	if said := out + line; strings.Contains(line, "\n") || !strings.Contains(said, "newer version") || !strings.Contains(said, place) {
		s.t.Errorf("%v does not say in one sentence that %s is of a newer version:\n%s%s", args, place, out, errOut)
	}
}

// A version refuses the stores of a newer version, and does not change them.
func TestNewerStoresAreRefused(t *testing.T) {
	eachSet(t, func(t *testing.T, s *set) {
		for _, c := range []struct {
			name, file string
			id         int
			commands   [][]string
		}{
			{"journal", "runs.db", 1, [][]string{
				{"receipts", "list", "--journal", "sqlite:runs.db"}, {"runs", "list", "--journal", "sqlite:runs.db"},
				runArgs("sqlite:runs.db", "--yes", "Deliver it to Rome."),
				{"receipts", "verify", s.facts.Journals["sqlite"].Done, "--journal", "sqlite:runs.db"}}},
			{"keys", "keys.db", 2, [][]string{
				{"keys", "list", "--keys", "sqlite:keys.db"}, {"keys", "create", "--team", "x", "--keys", "sqlite:keys.db"},
				{"usage", "--keys", "sqlite:keys.db"}, {"serve", "--addr", "127.0.0.1:0", "--config", "gateway.yaml"}}},
			{"state", "keys.db", 3, [][]string{{"serve", "--addr", "127.0.0.1:0", "--config", "gateway.yaml"}}},
		} {
			s.setVersion(c.file, c.id, 99)
			before := s.sum(c.file)
			for _, args := range c.commands {
				s.refused(c.file, args...)
			}
			if after := s.sum(c.file); after != before {
				t.Errorf("%s: a refused database was changed", c.name)
			}
			s.setVersion(c.file, c.id, 0)
		}
	})
}

// setVersion changes the version of tables in a database of SQLite; 0 is the one they had.
func (s *set) setVersion(file string, id, version int) {
	s.t.Helper()
	db := s.database(file)
	defer db.Close()
	query := `UPDATE toolpost_schema SET version = version + $1 WHERE id = $2`
	if version == 0 {
		query, version = `UPDATE toolpost_schema SET version = version - $1 WHERE id = $2`, 99
	}
	if _, err := db.Exec(query, version, id); err != nil {
		s.t.Fatal(err)
	}
}

func (s *set) sum(file string) [sha256.Size]byte {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		s.t.Fatal(err)
	}
	return sha256.Sum256(text)
}

// A run of a newer format in a folder is not read, resumed or continued.
func TestNewerRunsAreRefused(t *testing.T) {
	eachSet(t, func(t *testing.T, s *set) {
		ids := s.facts.Journals["folder"]
		for _, id := range []string{ids.Done, ids.Waiting} {
			file := filepath.Join(s.dir, "runs", id+".jsonl")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			newer := strings.ReplaceAll(string(text), ",\"v\":2}\n", ",\"v\":99}\n")
			if newer == string(text) {
				t.Fatal("there is no format in the entries")
			}
			if err := os.WriteFile(file, []byte(newer), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := s.sum("runs/" + ids.Waiting + ".jsonl")
		s.refused(ids.Done, "receipts", "show", ids.Done, "--journal", "runs")
		s.refused(ids.Done, "receipts", "verify", ids.Done, "--journal", "runs")
		s.refused(ids.Done, "receipts", "export", ids.Done, "--out", "export", "--journal", "runs")
		s.refused(ids.Waiting, "runs", "approve", ids.Waiting, "--by", "ada", "--journal", "runs")
		s.refused(ids.Waiting, runArgs("runs", "--resume", ids.Waiting)...)
		if after := s.sum("runs/" + ids.Waiting + ".jsonl"); after != before {
			t.Error("a refused run was changed")
		}
	})
}

func TestNewerPostgresIsRefused(t *testing.T) {
	eachSet(t, func(t *testing.T, s *set) {
		address, db := s.postgres()
		place := address[strings.Index(address, "@")+1 : strings.Index(address, "?")] // without the parts that may be a secret
		for id, args := range map[int][]string{1: {"receipts", "list", "--journal", address}, 2: {"keys", "list", "--keys", address}} {
			if _, err := db.Exec(`UPDATE toolpost_schema SET version = version + 99 WHERE id = $1`, id); err != nil {
				t.Fatal(err)
			}
			var before, after []string
			before = s.versions(db)
			s.refused(place, args...)
			if after = s.versions(db); !slices.Equal(before, after) {
				t.Errorf("the versions were %v and are %v", before, after)
			}
		}
	})
}

func (s *set) versions(db *sql.DB) (list []string) {
	s.t.Helper()
	rows, err := db.Query(`SELECT id, version FROM toolpost_schema ORDER BY id`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, version int
		if err := rows.Scan(&id, &version); err != nil {
			s.t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d: %d", id, version))
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return list
}
