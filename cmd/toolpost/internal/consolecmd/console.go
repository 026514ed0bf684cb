// Package consolecmd is the command console: pages about the record of runs and a gateway.
package consolecmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/console"
	"github.com/toolpost/toolpost/internal/access"
)

// DefaultAddr is the default address of the console.
const DefaultAddr = "127.0.0.1:8232"

// The variables with secrets: accounts of the console, and the key of an administrator of the gateway.
const (
	AccountsEnv   = "TOOLPOST_CONSOLE_ACCOUNTS"
	adminVariable = "TOOLPOST_ADMIN_KEY"
)

type options struct {
	addr, gateway, base string
	evals, tools        string
	hosts               []string
}

func New() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show runs, waiting approvals and a gateway in a browser",
		Long: `Serves pages about the recorded runs: their timeline, verification and differences, the
calls that wait for a person, evaluations and drift, tools and MCP servers, and what became
of every byte of an answer. With --gateway also requests, usage and keys; ` + adminVariable + `
has the key of an administrator.

It listens on loopback and prints a link with a token that is made for this start.
` + AccountsEnv + ` has accounts in its place, each NAME:ROLE:TOKEN, with commas
between; a role is viewer, operator or admin. For access from elsewhere put a proxy with
TLS before it and name the host with --host.`,
		Example: `  toolpost console
  toolpost console --journal sqlite:runs.db --addr 127.0.0.1:9000
  toolpost console --gateway http://127.0.0.1:8240`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.serve(cmd) },
	}
	cmd.Flags().StringVar(&o.addr, "addr", DefaultAddr, "loopback `ADDRESS` to listen on; port 0 picks a free one")
	cmd.Flags().StringVar(&o.gateway, "gateway", "", "`URL` of a gateway's admin_addr")
	cmd.Flags().StringVar(&o.base, "base", "", "`PATH` below which a proxy serves the console, like /console")
	cmd.Flags().StringSliceVar(&o.hosts, "host", nil, "host `NAME` under which a proxy with TLS serves the console")
	cmd.Flags().StringVar(&o.evals, "evaluations", "", "where evaluations are recorded: a `FOLDER`, sqlite:FILE or postgres://…")
	cmd.Flags().StringVar(&o.tools, "tools", "", "audit the tools of this `FILE` instead of the built-in ones")
	settings.AddJournalFlag(cmd, cmd.Flags())
	return cmd
}

func (o options) serve(cmd *cobra.Command) error {
	if err := listen.Loopback(o.addr); err != nil {
		return cli.Usagef(cmd, "the console is for this machine: put a proxy with TLS before it, and name its host with --host: %w", err)
	}
	if o.base != "" && (!strings.HasPrefix(o.base, "/") || strings.HasSuffix(o.base, "/")) {
		return cli.Usagef(cmd, "--base %s: it must begin with a slash, and not end with one", o.base)
	}
	accounts, made, err := accountsOf(os.Getenv(AccountsEnv))
	if err != nil {
		return err
	}
	c := &console.Console{Accounts: accounts, Hosts: o.hosts, Base: o.base, Secure: len(o.hosts) > 0}
	if o.gateway != "" {
		if c.Gateway, err = adminOf(o.gateway, os.Getenv(adminVariable)); err != nil {
			return err
		}
	}
	runs, err := runstore.Name(cmd)
	if err != nil {
		return err
	}
	set, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	done, err := sources{settings: set, load: func() (*settings.Settings, error) { return settings.Load(cmd) }, runs: runs, evals: o.evals, tools: o.tools}.open(cmd, c)
	if err != nil {
		return err
	}
	defer done()
	l, err := listen.On(o.addr)
	if err != nil {
		return err
	}
	link := "http://" + l.Addr().String() + o.base + "/login"
	if made {
		link += "#token=" + accounts[0].Token
	}
	fmt.Fprintf(cmd.OutOrStdout(), "open %s\n", link)
	// A live page would keep the command from ending.
	return listen.Serve(cmd.Context(), l, endsWith(cmd.Context(), c))
}

// Mount is how another server serves the console.
type Mount struct {
	Path      string   // below which it is served, like "/console"
	Hosts     []string // accepted besides loopback
	AdminKeys string   // keys of administrators, who log in with them
	Gateway   *console.AdminAPI
}

// Mounted returns the console for another server of this program. The caller calls done.
func Mounted(cmd *cobra.Command, set *settings.Settings, m Mount) (h http.Handler, done func(), err error) {
	accounts, err := Accounts(m.AdminKeys)
	if err != nil {
		return nil, nil, err
	}
	c := &console.Console{Accounts: accounts, Hosts: m.Hosts, Base: m.Path, Secure: len(m.Hosts) > 0, Gateway: m.Gateway}
	if done, err = (sources{settings: set, load: func() (*settings.Settings, error) { return settings.Load(cmd) }}).open(cmd, c); err != nil {
		return nil, nil, err
	}
	return endsWith(cmd.Context(), c), done, nil
}

// Accounts returns the accounts of a console that another server serves: those of the environment, and an administrator
// for each key.
func Accounts(adminKeys string) ([]console.Account, error) {
	var accounts []console.Account
	if text := os.Getenv(AccountsEnv); text != "" {
		var err error
		if accounts, _, err = accountsOf(text); err != nil {
			return nil, err
		}
	}
	if adminKeys != "" {
		for _, k := range access.NamedKeys(adminKeys) {
			accounts = append(accounts, console.Account{Name: k.Name, Permission: console.Admin, Token: k.Key})
		}
	}
	if len(accounts) == 0 {
		return nil, errors.New("nobody could log in to the console: set " + AccountsEnv + " to accounts, each NAME:ROLE:TOKEN")
	}
	return accounts, nil
}

// endsWith ends requests when the command ends.
func endsWith(ctx context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		h.ServeHTTP(w, r.WithContext(inner))
	})
}

// accountsOf reads accounts. Without any it makes one for the person who started the command.
func accountsOf(text string) (accounts []console.Account, made bool, err error) {
	if text == "" {
		name := "admin"
		if u, err := user.Current(); err == nil && u.Username != "" {
			name = u.Username
		}
		return []console.Account{{Name: name, Permission: console.Admin, Token: rand.Text()}}, true, nil
	}
	for i, part := range strings.Split(text, ",") {
		fields := strings.SplitN(strings.TrimSpace(part), ":", 3)
		if len(fields) != 3 || fields[0] == "" {
			return nil, false, fmt.Errorf("%s: account %d is not NAME:ROLE:TOKEN", AccountsEnv, i+1)
		}
		a := console.Account{Name: fields[0], Token: fields[2]}
		switch fields[1] {
		case console.Viewer.String():
		case console.Operator.String():
			a.Permission = console.Operator
		case console.Admin.String():
			a.Permission = console.Admin
		default:
			return nil, false, fmt.Errorf("%s: the role of %s must be viewer, operator or admin", AccountsEnv, fields[0])
		}
		if len(a.Token) < console.MinToken {
			return nil, false, fmt.Errorf("%s: the token of %s has less than %d bytes; use a longer one", AccountsEnv, fields[0], console.MinToken)
		}
		accounts = append(accounts, a)
	}
	return accounts, false, nil
}

// adminOf returns the API of a gateway's administrators.
func adminOf(address, keys string) (*console.AdminAPI, error) {
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		return nil, fmt.Errorf("--gateway: %q is not an http or https address", address)
	}
	named := access.NamedKeys(keys)
	if len(named) == 0 || named[0].Key == "" {
		return nil, errors.New("--gateway needs the key of an administrator in " + adminVariable)
	}
	return &console.AdminAPI{URL: address, Key: named[0].Key}, nil
}
