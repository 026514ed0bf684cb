// Package keys holds the commands keys and usage: the keys of a gateway, and what they cost.
package keys

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
)

// StoreEnv and StateEnv are the variables for the stores of keys and state, for addresses with a password. InMemory means no
// database of state.
const (
	StoreEnv = "TOOLPOST_GATEWAY_KEYS"
	StateEnv = "TOOLPOST_GATEWAY_STATE"
	InMemory = "memory"
)

const StoreUsage = "where keys and what they use are kept: sqlite:`FILE` or postgres://…"

// addKeysFlags adds the flags that select the store of keys.
func addKeysFlags(cmd *cobra.Command) {
	cmd.PersistentFlags().String("keys", "", StoreUsage)
	cli.AddConfigFlag(cmd.PersistentFlags())
}

// StoreName returns the store of keys from --keys, the environment or the configuration, "" if there is none.
func StoreName(cmd *cobra.Command, c *settings.GatewayConfig) (string, error) {
	if f := cmd.Flag("keys"); f != nil && f.Changed {
		if err := settings.NoPassword(cmd, "keys", f.Value.String(), StoreEnv); err != nil {
			return "", err
		}
		return f.Value.String(), nil
	}
	return cmp.Or(os.Getenv(StoreEnv), c.Keys.Store), nil
}

// openKeys opens a store of keys. The caller calls done.
func openKeys(ctx context.Context, name string, create bool) (book *access.Book, done func(), err error) {
	db, err := OpenDatabase(name, create, runstore.CommandBusy)
	if err != nil {
		return nil, nil, err
	}
	book, err = BookIn(ctx, db)
	if err != nil {
		db.Close()
		return nil, nil, settings.NamingNewer(name, err)
	}
	return book, func() { db.Close() }, nil
}

// OpenDatabase opens a database of the gateway. A locked SQLite database is retried for the duration busy.
func OpenDatabase(name string, create bool, busy time.Duration) (*sql.DB, error) {
	driver, address := "pgx", name
	switch file, isFile := strings.CutPrefix(name, "sqlite:"); {
	case isFile:
		if _, err := os.Stat(file); err != nil && !create {
			return nil, fmt.Errorf("there are no keys: %w", err)
		}
		driver = "sqlite"
		var err error
		if address, err = runstore.SQLiteAddress(file, "NORMAL", busy); err != nil {
			return nil, err
		}
	case !settings.IsPostgres(name):
		return nil, errors.New("keys are kept in sqlite:FILE or at postgres://…, and what keys says is neither") // the address may hold a password
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		return nil, errors.New("the address of the database cannot be read") // the error may quote a password
	}
	if driver == "sqlite" {
		db.SetMaxOpenConns(1) // writers wait for each other in the process, not at the file
	}
	return db, nil
}

// BookIn opens the keys in a database.
func BookIn(ctx context.Context, db *sql.DB) (*access.Book, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return gateway.OpenAccess(ctx, db)
}

// Patience limits how long opening a database may take.
const Patience = 30 * time.Second

// withKeys runs f with the keys of a command.
func withKeys(cmd *cobra.Command, create bool, f func(*access.Book) error) error {
	s, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	name, err := StoreName(cmd, &s.Gateway)
	if err != nil {
		return err
	}
	if name == "" {
		return cli.Usagef(cmd, "no place for keys is configured: set keys below gateway in the configuration, or give --keys sqlite:FILE")
	}
	if err := keysProblem(cmd, name, create); err != nil {
		return err
	}
	book, done, err := openKeys(cmd.Context(), name, create)
	if err != nil {
		return ExplainError(cmd, err)
	}
	defer done()
	cmd.SetContext(access.WithActor(cmd.Context(), "command of "+userName()))
	return ExplainError(cmd, f(book))
}

// userName returns the name of the user of this machine, for the audit log.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// keysProblem returns an error that names the source of a store that cannot be opened. serve uses the same words.
func keysProblem(cmd *cobra.Command, name string, create bool) error {
	file, isFile := strings.CutPrefix(name, "sqlite:")
	if _, err := os.Stat(file); isFile && file != "" && !create && errors.Is(err, fs.ErrNotExist) {
		return nil // opening the store reports this error
	}
	err := Storable(name, false)
	switch f := cmd.Flag("keys"); {
	case err == nil:
		return nil
	case f != nil && f.Changed:
		return fmt.Errorf("--keys: %w", err)
	case os.Getenv(StoreEnv) != "":
		return fmt.Errorf("%s: %w", StoreEnv, err)
	}
	return fmt.Errorf("gateway.keys in the configuration: %w", err)
}

// ExplainError rewrites an error about keys for a command. Invalid requests become usage errors, and the name of the
// package is removed.
func ExplainError(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if text, ok := strings.CutPrefix(err.Error(), "access: "); ok {
		err = settings.Reworded(err, text)
	}
	if invalid := new(access.InvalidError); errors.As(err, &invalid) {
		return cli.Usagef(cmd, "%w", err)
	}
	return err
}

func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make, list, rotate and revoke the keys of a gateway",
		Long: `The keys that clients of 'toolpost serve' show. A key belongs to a team; limits of the key
and of its team hold together. Only a hash of a key is kept: it is shown once, when it
is made. KEY is the id of a key, which it begins with, or its name if no other key has it.

A limit is UNIT/PERIOD=AMOUNT: requests, tokens or money (in US dollars), per minute, day
or month, or total.`,
		Example: `  toolpost keys create --team research --limit money/month=50 --limit requests/minute=60 --keys sqlite:keys.db
  toolpost keys list --keys sqlite:keys.db`,
	}
	addKeysFlags(cmd)
	cmd.AddCommand(newKeysCreate(), newKeysSet(), newKeysList(), newKeysRotate(), newKeysRevoke(), newKeysTeam(), newKeysErase())
	cli.NoEmptyFlags(cmd, "name") // the name is only a label
	return cmd
}

// shownKey is a key with its secret.
type shownKey struct {
	access.Key
	Secret string `json:"secret"`
}

// showSecret prints a new key with its secret, which is shown only once.
func showSecret(cmd *cobra.Command, k access.Key, secret string, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), shownKey{k, secret})
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "the key %s of team %s; it is shown only this once:\n", k.ID, cli.Printable(k.Team))
	_, err := fmt.Fprintln(cmd.OutOrStdout(), secret)
	return err
}

// readLimits parses the limits of a flag.
func readLimits(cmd *cobra.Command, texts []string) (list []access.Quota, err error) {
	for _, s := range texts {
		q, err := access.ParseQuota(s)
		if err != nil {
			return nil, cli.Usagef(cmd, "--limit: %w", err)
		}
		list = append(list, q)
	}
	return list, nil
}

func newKeysCreate() *cobra.Command {
	var k access.Key
	var limits []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a key",
		Long: `Makes a key and prints it on standard output, once. Without --models, --tools or --routes all
of them are allowed; in their names, * stands for anything. Tools are those that the
gateway or a vendor runs; clients run their own.`,
		Example: `  toolpost keys create --team research --name laptop --models 'claude-*,fast' --keys sqlite:keys.db
  toolpost keys create --team research --limit tokens/day=1000000 --expires 720h --json --keys sqlite:keys.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if k.Limits, err = readLimits(cmd, limits); err != nil {
				return err
			}
			if k.Expires, err = timeFlag(cmd, "expires", false); err != nil {
				return err
			}
			return withKeys(cmd, true, func(b *access.Book) error {
				made, secret, err := b.Create(cmd.Context(), k)
				if err != nil {
					return err
				}
				warnOfBounds(cmd, made)
				return showSecret(cmd, made, secret, asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&k.Team, "team", "", "the `TEAM` that the key belongs to")
	f.StringVar(&k.Name, "name", "", "what the key is for")
	f.StringSliceVar(&k.Models, "models", nil, "the models that it may ask for, as clients name them")
	f.StringSliceVar(&k.Tools, "tools", nil, "the tools of the gateway and of vendors that it may use")
	f.StringSliceVar(&k.Routes, "routes", nil, "the routes that it may use, as the configuration names them")
	f.StringArrayVar(&limits, "limit", nil, "a `LIMIT` like money/month=50; may be given several times")
	f.String("expires", "", "when it ends: after a `TIME` like 720h or 30d, with a day like 2027-01-31, or at 2027-01-31T12:00:00Z")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// timeFlag parses the time of a flag. It returns the zero time if the flag is absent. An empty value, as an unset
// variable leaves it, is an error.
func timeFlag(cmd *cobra.Command, name string, back bool) (time.Time, error) {
	f := cmd.Flag(name)
	if !f.Changed {
		return time.Time{}, nil
	}
	t, err := access.ParseTime(f.Value.String(), time.Now(), back)
	if err != nil {
		return time.Time{}, cli.Usagef(cmd, "--%s: %w", name, err)
	}
	return t, nil
}

func newKeysList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the keys, the oldest first",
		Example: "  toolpost keys list --keys sqlite:keys.db\n  toolpost keys list --json --keys sqlite:keys.db",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withKeys(cmd, false, func(b *access.Book) error {
				keys, err := b.Keys(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return cli.PrintJSON(cmd.OutOrStdout(), append([]access.Key{}, keys...))
				}
				rows := [][]string{{"KEY", "TEAM", "NAME", "STATE", "EXPIRES", "MODELS", "TOOLS", "ROUTES", "LIMITS"}}
				for _, k := range keys {
					expires := "never"
					if !k.Expires.IsZero() {
						expires = k.Expires.UTC().Format(time.RFC3339)
					}
					state := k.State(time.Now())
					if n := len(k.EarlierUntil); n > 0 && k.Revoked.IsZero() {
						state += fmt.Sprintf(" (%d earlier until %s)", n, slices.MaxFunc(k.EarlierUntil, time.Time.Compare).UTC().Format(time.RFC3339))
					}
					rows = append(rows, []string{k.ID, cli.Printable(k.Team), cmp.Or(cli.Printable(k.Name), "-"), state, expires,
						boundList(k.Models), boundList(k.Tools), boundList(k.Routes), cmp.Or(quotaList(k.Limits), "none")})
				}
				return printFitted(cmd, rows, []string{"KEY"}, "ROUTES", "TOOLS", "EXPIRES", "MODELS", "NAME", "LIMITS")
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// boundList formats the models, routes or tools that a key may use.
func boundList(list []string) string { return cmp.Or(cli.Printable(strings.Join(list, ",")), "all") }

func quotaList(list []access.Quota) string {
	var out []string
	for _, q := range list {
		out = append(out, q.String())
	}
	return strings.Join(out, " ")
}

func newKeysSet() *cobra.Command {
	var to access.Key
	var limits []string
	var none, asJSON bool
	cmd := &cobra.Command{
		Use:   "set KEY",
		Short: "Change what a key may do",
		Long: `Changes a key, which keeps its secret and what it has used. What is given takes the place
of what was; the rest stays. '*' allows all models, tools or routes, --no-limits takes all
limits away, and --expires never the end.`,
		Example: "  toolpost keys set tp-k3f9x2qabc --limit money/month=80 --expires 90d --keys sqlite:keys.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if to.Limits, err = readLimits(cmd, limits); err != nil {
				return err
			}
			if none && len(limits) > 0 {
				return cli.Usagef(cmd, "--limit and --no-limits cannot both be meant")
			}
			if cmd.Flag("expires").Value.String() != "never" {
				if to.Expires, err = timeFlag(cmd, "expires", false); err != nil {
					return err
				}
			}
			given := func(name string) bool { return cmd.Flag(name).Changed }
			if !slices.ContainsFunc([]string{"name", "models", "tools", "routes", "limit", "no-limits", "expires"}, given) {
				return cli.Usagef(cmd, "nothing says what to change: give --name, --models, --tools, --routes, --limit, --no-limits or --expires")
			}
			return withKeys(cmd, false, func(b *access.Book) error {
				id, err := keyCalled(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				k, err := b.Change(cmd.Context(), id, func(k *access.Key) {
					if given("name") {
						k.Name = to.Name
					}
					if given("models") {
						k.Models = to.Models
					}
					if given("tools") {
						k.Tools = to.Tools
					}
					if given("routes") {
						k.Routes = to.Routes
					}
					if given("limit") || none {
						k.Limits = to.Limits
					}
					if given("expires") {
						k.Expires = to.Expires
					}
				})
				if err != nil {
					return err
				}
				if given("models") || given("routes") || given("tools") {
					warnOfBounds(cmd, to)
				}
				if asJSON {
					return cli.PrintJSON(cmd.OutOrStdout(), k)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the key %s of team %s is changed\n", k.ID, cli.Printable(k.Team))
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&to.Name, "name", "", "what the key is for")
	f.StringSliceVar(&to.Models, "models", nil, "the models that it may ask for, as clients name them")
	f.StringSliceVar(&to.Tools, "tools", nil, "the tools of the gateway and of vendors that it may use")
	f.StringSliceVar(&to.Routes, "routes", nil, "the routes that it may use, as the configuration names them")
	f.StringArrayVar(&limits, "limit", nil, "a `LIMIT` like money/month=50; may be given several times")
	f.BoolVar(&none, "no-limits", false, "take all limits of the key away")
	f.String("expires", "", "when it ends: after a `TIME` like 720h or 30d, with a day like 2027-01-31, at 2027-01-31T12:00:00Z, or never")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newKeysRotate() *cobra.Command {
	var within string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "rotate KEY",
		Short:   "Give a key a new secret",
		Long:    "Prints a new secret for a key. The one before ends at once, or after --grace.",
		Example: "  toolpost keys rotate tp-k3f9x2qabc --grace 24h --keys sqlite:keys.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			grace, err := access.ParseDuration(cmp.Or(within, "0s"))
			if err != nil || grace < 0 {
				return cli.Usagef(cmd, "--grace is how long the secret before is still good, like 24h or 2d, and not %q", within)
			}
			return withKeys(cmd, false, func(b *access.Book) error {
				id, err := keyCalled(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				k, secret, err := b.Rotate(cmd.Context(), id, grace)
				if err != nil {
					return err
				}
				return showSecret(cmd, k, secret, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&within, "grace", "", "how `LONG` the secret before is still good, like 24h or 2d")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newKeysRevoke() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke KEY",
		Short:   "End a key at once and for ever",
		Example: "  toolpost keys revoke tp-k3f9x2qabc --keys sqlite:keys.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd, false, func(b *access.Book) error {
				id, err := keyCalled(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				k, err := b.Revoke(cmd.Context(), id)
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "the key %s of team %s is revoked\n", k.ID, cli.Printable(k.Team))
				}
				return err
			})
		},
	}
}

func newKeysTeam() *cobra.Command {
	var limits []string
	var none, asJSON bool
	cmd := &cobra.Command{
		Use:   "team TEAM",
		Short: "Show or set the limits of a team",
		Long: `Sets what all keys of a team may use together, in the place of the limits that it had.
Without --limit and --no-limits it shows them.`,
		Example: `  toolpost keys team research --limit money/month=500 --limit tokens/minute=200000 --keys sqlite:keys.db
  toolpost keys team research --keys sqlite:keys.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := readLimits(cmd, limits)
			if err != nil {
				return err
			}
			if none && len(list) > 0 {
				return cli.Usagef(cmd, "--limit and --no-limits cannot both be meant")
			}
			set := none || len(list) > 0
			return withKeys(cmd, set, func(b *access.Book) error {
				if set {
					if err = b.SetTeam(cmd.Context(), access.Team{Name: args[0], Limits: list}); err == nil {
						err = warnOfTeam(cmd, b, args[0])
					}
				} else {
					list, err = limitsOf(cmd, b, args[0])
				}
				if err != nil {
					return err
				}
				if asJSON {
					return cli.PrintJSON(cmd.OutOrStdout(), access.Team{Name: args[0], Limits: list})
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "limits of team %s: %s\n", cli.Printable(args[0]), cmp.Or(quotaList(list), "none"))
				return err
			})
		},
	}
	cmd.Flags().StringArrayVar(&limits, "limit", nil, "a `LIMIT` like money/month=500; may be given several times")
	cmd.Flags().BoolVar(&none, "no-limits", false, "take all limits of the team away")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// limitsOf returns the limits of a team.
func limitsOf(cmd *cobra.Command, b *access.Book, name string) ([]access.Quota, error) {
	teams, err := b.Teams(cmd.Context())
	if err != nil {
		return nil, err
	}
	for _, t := range teams {
		if t.Name == name {
			return t.Limits, nil
		}
	}
	return nil, fmt.Errorf("there is no team %s", cli.Printable(name))
}

// Storable reports why a database cannot be opened. It neither writes nor creates anything.
func Storable(name string, memory bool) error {
	file, isFile := strings.CutPrefix(name, "sqlite:")
	switch {
	case settings.IsPostgres(name):
		if _, err := pgx.ParseConfig(name); err != nil {
			return errors.New("the address of the database cannot be read; write postgres://USER@HOST:PORT/DATABASE") // the error may quote a password
		}
		return nil
	case !isFile: // the name may hold a password
		return fmt.Errorf("unknown kind of store; write sqlite:FILE%s or postgres://…", map[bool]string{true: ", memory"}[memory])
	case file == "":
		return errors.New("sqlite: names no file; write sqlite:FILE")
	case settings.VariableIn.MatchString(file):
		return fmt.Errorf("variables are not replaced here, and %s would be part of the file name", settings.VariableIn.FindString(file))
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if dir, err := os.Stat(filepath.Dir(file)); err != nil || !dir.IsDir() {
			return fmt.Errorf("%s cannot be created: there is no folder %s", file, filepath.Dir(file))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("the database cannot be opened: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(sqliteHead))
	if n, _ := io.ReadFull(f, head); n > 0 && string(head[:n]) != sqliteHead[:min(n, len(sqliteHead))] {
		return fmt.Errorf("%s is not an SQLite database; name one, or a new file", file)
	}
	return nil
}

// sqliteHead is the start of every SQLite file.
const sqliteHead = "SQLite format 3\x00"
