package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// loginPatience is the time limit for the consent in a browser.
const loginPatience = 10 * time.Minute

func newMCPLogin() *cobra.Command {
	var paste bool
	var clientID, secretEnv, metadata string
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server that asks who you are (OAuth)",
		Long: `Print an address to open in a browser, where you agree that Toolpost uses the server in your
name. The browser then comes back to a port of this machine. On a machine without a browser,
open the address anywhere with --paste, and paste the address at which the browser ended.

The token is kept in a file that only you can read, goes to that server only, and is renewed
by itself. Toolpost registers with the authorization server unless --client-id or
--client-metadata says who it is.`,
		Example: `  toolpost mcp login search
  toolpost mcp login search --paste
  toolpost mcp login search --client-id 1234 --client-secret-env SEARCH_SECRET`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := serverByName(cmd, args[0])
			if err != nil {
				return err
			}
			o := client.LoginOptions{Dir: mcpservers.Dir(), Lookup: os.LookupEnv, ClientID: clientID, ClientMetadata: metadata}
			if secretEnv != "" {
				if o.ClientSecret = os.Getenv(secretEnv); o.ClientSecret == "" || clientID == "" {
					return cli.Usagef(cmd, "--client-secret-env needs --client-id, and a variable that is set")
				}
			}
			o.Show = func(address string) {
				fmt.Fprintf(cmd.ErrOrStderr(), "Open this address in a browser:\n\n%s\n\n", cli.Printable(address))
			}
			if paste {
				o.Paste = func(ctx context.Context) (string, error) {
					fmt.Fprint(cmd.ErrOrStderr(), "The browser ends at an address of this machine, which shows nothing. Paste it here: ")
					return pastedLine(ctx, cmd)
				}
			}
			cli.MustEnd(cmd.Context())
			ctx, cancel := context.WithTimeout(cmd.Context(), loginPatience)
			defer cancel()
			err = client.Login(ctx, c, o)
			if errors.Is(err, client.ErrNoLogin) {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s asks for no login\n", c.Name)
				return err
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "logged in to %s\n", c.Name)
			return err
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&paste, "paste", false, "read the address at which the browser ended from standard input")
	cmd.Flags().StringVar(&clientID, "client-id", "", "who Toolpost is to the authorization server, if you have registered it there")
	cmd.Flags().StringVar(&secretEnv, "client-secret-env", "", "the `VARIABLE` that holds the secret of --client-id")
	cmd.Flags().StringVar(&metadata, "client-metadata", "", "the https `ADDRESS` of a document that says who Toolpost is")
	return cmd
}

// pastedLine reads one line of standard input.
func pastedLine(ctx context.Context, cmd *cobra.Command) (string, error) {
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	go func() {
		var b strings.Builder
		one := make([]byte, 1)
		for in := cli.StandardInput(cmd); b.Len() < cli.MaxTask; {
			n, err := in.Read(one)
			if n == 1 && one[0] == '\n' || err != nil && b.Len() > 0 {
				break
			}
			if err != nil {
				got <- line{"", errors.New("nothing was pasted")}
				return
			}
			b.Write(one[:n])
		}
		got <- line{b.String(), nil}
	}()
	select {
	case l := <-got:
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// serverByName returns a server of the configuration.
func serverByName(cmd *cobra.Command, name string) (config.ServerConfig, error) {
	s, err := settings.Load(cmd)
	if err != nil {
		return config.ServerConfig{}, err
	}
	all, err := mcpservers.Configured(&s.ToolOptions)
	if err != nil {
		return config.ServerConfig{}, err
	}
	var names []string
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return config.ServerConfig{}, cli.Usagef(cmd, "no server of the configuration is called %s%s", name, cli.DidYouMean(name, names))
}

func newMCPLogout() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "logout SERVER",
		Short:   "Forget the login for a server",
		Long:    "Forget the token of a server. The authorization server is not told: what it knows of you ends there.",
		Example: "  toolpost mcp logout search",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			there, err := client.Logout(mcpservers.Dir(), args[0])
			if err != nil {
				return cli.Usagef(cmd, "%w", err)
			}
			if !there {
				return fmt.Errorf("there is no login for %s", cli.Printable(args[0]))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "logged out of %s\n", args[0])
			return err
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	return cmd
}

// loginRow is a server in the output of mcp status --json.
type loginRow struct {
	Name     string   `json:"name"`
	LoggedIn bool     `json:"logged_in"`
	Expiry   string   `json:"expiry,omitempty"`
	Renewed  bool     `json:"renewed,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Issued   string   `json:"issued_by,omitempty"`
}

func newMCPStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status [SERVER]",
		Short:   "List the servers you are logged in to",
		Long:    "Say for each server with an address, or for one, whether there is a login, how long its token is good, and who gave it. Nothing is asked.",
		Example: "  toolpost mcp status\n  toolpost mcp status search --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := settings.Load(cmd)
			if err != nil {
				return err
			}
			all, err := mcpservers.Configured(&s.ToolOptions)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				one, err := serverByName(cmd, args[0])
				if err != nil {
					return err
				}
				all = []config.ServerConfig{one}
			}
			rows, table := []loginRow{}, [][]string{}
			for _, c := range all {
				if c.URL == "" {
					continue
				}
				row, words := loginOf(c)
				rows, table = append(rows, row), append(table, []string{c.Name, words})
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), rows)
			}
			if len(table) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "no servers that have logins")
				return err
			}
			return cli.PrintTable(cmd.OutOrStdout(), "", table)
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// loginOf describes the stored login for a server.
func loginOf(c config.ServerConfig) (loginRow, string) {
	st, err := client.LoginOf(c, client.LoginOptions{Dir: mcpservers.Dir(), Lookup: os.LookupEnv})
	row := loginRow{Name: c.Name, LoggedIn: st.LoggedIn, Renewed: st.Renewed, Scopes: st.Scopes, Issued: st.Issued}
	switch {
	case err != nil:
		return row, cli.Printable(err.Error())
	case !st.LoggedIn:
		return row, "no login"
	}
	words := "logged in at " + cli.Printable(st.Issued)
	if !st.Expiry.IsZero() {
		row.Expiry = st.Expiry.UTC().Format(time.RFC3339)
		words += ", until " + row.Expiry
	}
	if st.Renewed {
		words += ", renewed by itself"
	}
	return row, words
}
