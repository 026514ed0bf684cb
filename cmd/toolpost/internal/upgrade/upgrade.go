// Package upgrade is the command upgrade, which looks for a newer release if it is asked to.
package upgrade

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/outbound"
)

// latestRelease redirects to the page of the latest release.
const latestRelease = "https://github.com/toolpost/toolpost/releases/latest"

// report is the output of upgrade --check.
type report struct {
	Current string `json:"current"`
	Latest  string `json:"latest"`
	Newer   bool   `json:"newer"`
	URL     string `json:"url"`
}

// New returns the command.
func New() *cobra.Command {
	var check, asJSON bool
	var from string
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Look for a newer release",
		Long: `Asks the address of the latest release once and compares the version. Nothing about this
machine is sent but its network address. No other command looks for a release, and no
command replaces the program: install a release as you installed this one.`,
		Example: "  toolpost upgrade --check\n  toolpost upgrade --check --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !check {
				return cli.Usagef(cmd, "toolpost does not replace itself; --check looks for a newer release")
			}
			r, err := find(cmd.Context(), from, buildinfo.Read().Version)
			if err != nil {
				return fmt.Errorf("cannot look for a newer release: %w", err)
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), r)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), r)
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "ask for the latest release")
	cmd.Flags().StringVar(&from, "from", latestRelease, "the `ADDRESS` that redirects to the latest release")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (r report) String() string {
	switch {
	case r.Newer:
		return fmt.Sprintf("%s is available; this is %s\n%s", r.Latest, r.Current, r.URL)
	case !released.MatchString(r.Current):
		return fmt.Sprintf("this is %s, which is not a release; the latest release is %s", r.Current, r.Latest)
	}
	return fmt.Sprintf("%s is the latest release", r.Latest)
}

// find asks for the address of the latest release, which ends with its version.
func find(ctx context.Context, from, current string) (report, error) {
	r := report{Current: current}
	address, err := url.Parse(from)
	if err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, from, nil)
	if err != nil {
		return r, err
	}
	req.Header.Set("User-Agent", "toolpost")
	client := outbound.New(outbound.Rules{Timeout: 20 * time.Second, Once: true})
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return r, err
	}
	resp.Body.Close()
	to, err := address.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return r, fmt.Errorf("%s names no release (%s)", from, resp.Status)
	}
	r.Latest, r.URL = path.Base(to.Path), to.String()
	if !released.MatchString(r.Latest) {
		return r, fmt.Errorf("%s names %.40q, which is not a version", from, r.Latest)
	}
	r.Newer = released.MatchString(current) && older(current, r.Latest)
	return r, nil
}

// released matches versions of releases. Builds of other commits have a time in their version, or no version.
var released = regexp.MustCompile(`^v\d{1,6}\.\d{1,6}\.\d{1,6}(-(alpha|beta|rc|test)\.\d{1,6})?$`)

// older compares two versions of releases. A version with a suffix is older than the version without it.
func older(a, b string) bool {
	mainA, suffixA, _ := strings.Cut(strings.TrimPrefix(a, "v"), "-")
	mainB, suffixB, _ := strings.Cut(strings.TrimPrefix(b, "v"), "-")
	partsA, partsB := strings.Split(mainA, "."), strings.Split(mainB, ".")
	for i := range partsA {
		x, _ := strconv.Atoi(partsA[i])
		y, _ := strconv.Atoi(partsB[i])
		if x != y {
			return x < y
		}
	}
	if suffixA == "" || suffixB == "" {
		return suffixA != "" && suffixB == ""
	}
	kindA, numberA, _ := strings.Cut(suffixA, ".")
	kindB, numberB, _ := strings.Cut(suffixB, ".")
	x, _ := strconv.Atoi(numberA)
	y, _ := strconv.Atoi(numberB)
	return kindA < kindB || kindA == kindB && x < y
}
