package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serveimport"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// fileSchema describes the configuration file.
var fileSchema = &configcheck.Schema{Root: reflect.TypeFor[settings.Settings](), Filled: "gateway", Hint: fieldHint}

// fieldHint returns advice on fields of other programs and on keys in the file.
func fieldHint(name, section string) string {
	switch {
	case name == "api_key" || name == "key":
		return "the file contains no keys: key_env names the environment variable with the key"
	case section == "" && serveimport.IsSection(name):
		return "this looks like a configuration of the LiteLLM proxy; 'toolpost serve import FILE' converts it"
	}
	return ""
}

// examine finds all mistakes in the configuration of serve, without starting or changing anything. serve, serve --check
// and every reload use it, so they report the same mistakes. serve itself can only fail later for reasons that a check
// cannot see, such as a port in use.
func (v *serving) examine() (*configcheck.Report, *settings.Settings, gateway.Setup) {
	r, s := v.readSettings()
	r.Explain = explainError
	if s == nil {
		return r, nil, gateway.Setup{}
	}
	x := &examination{Report: r, serving: v, s: s}
	return r, s, x.check()
}

// readSettings reads the settings. After mistakes it returns the readable part, or nil if nothing is readable.
func (v *serving) readSettings() (*configcheck.Report, *settings.Settings) {
	s, partly, r := settings.Defaults(), settings.Defaults(), &configcheck.Report{}
	file, named := settings.File(v.cmd)
	if file != "" {
		text, err := readConfig(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !named:
		case err != nil:
			r.Add(configcheck.Mistake{File: file, Problem: fmt.Sprintf("the configuration cannot be read: %v", err)})
			return r, nil
		default:
			r = fileSchema.Read(file, text, partly)
		}
	}
	switch {
	case !r.Parsed() && len(r.List) > 0:
		return r, nil
	case named && len(r.List) == 0 && r.Empty():
		r.AddError(errEmptyConfig)
		return r, nil
	case len(r.List) > 0:
		s = partly
	case r.File != "":
		if err := s.ReadFile(file); err != nil {
			r.AddError(err)
			return r, nil
		}
	}
	s.File = r.File
	if err := s.Override(v.cmd); err != nil {
		r.AddError(err)
		return r, nil
	}
	return r, s
}

// errEmptyConfig refuses an empty configuration file that the user named, for example a file that is not written yet.
// Otherwise the offline model would answer for every name.
var errEmptyConfig = errors.New("the configuration is empty; to start without one, leave out --config and TOOLPOST_CONFIG")

// readConfig reads the configuration file of a gateway. It requires a regular file, because the file is read more than
// once. A second read of a pipe would return an empty configuration or block.
func readConfig(file string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file, which is required because it is read more than once", file)
	}
	text, err := cli.ReadFile(file, settings.MaxConfig)
	return settings.WithoutMark(text), err
}

// explainError places problems of routes and settings.
func explainError(err error) (configcheck.Mistake, bool) {
	var route *gateway.RouteError
	var setting settings.SettingError
	switch {
	case errors.As(err, &route):
		path := fmt.Sprintf("gateway.routes[%d].%s", route.Route, route.Setting)
		problem, unset := route.Error(), new(provider.UnsetError)
		if known := new(llm.Error); errors.As(route.Err, &known) && known.Err != nil { // the start of this error is meant for programs
			problem = strings.Replace(problem, strings.TrimSuffix(known.Error(), known.Err.Error()), "", 1)
		}
		return configcheck.Mistake{Path: strings.TrimSuffix(path, "."), Problem: problem, Unset: errors.As(route.Err, &unset)}, true
	case errors.As(err, &setting) && !setting.OfCommand():
		return configcheck.Mistake{Path: setting.Path, Problem: setting.Err.Error()}, true
	}
	return configcheck.Mistake{}, false
}

// refusal returns an error with all mistakes, nil if there are none.
func (v *serving) refusal(wrong []configcheck.Mistake) error {
	if len(wrong) == 0 {
		return nil
	}
	var lines []string
	flags := true
	for _, m := range wrong {
		lines = append(lines, m.String())
		flags = flags && m.Outside
	}
	if text := strings.Join(lines, "\n"); flags {
		return cli.Usagef(v.cmd, "%s", text)
	} else {
		return errors.New(text)
	}
}

// tryTools checks the tools that routes name. If none are open, it opens them temporarily, without starting servers.
func (v *serving) tryTools(s *settings.Settings) error {
	if v.tools != nil {
		return v.tools.Attach(s)
	}
	tools, err := OpenRouteTools(v.cmd, s, true)
	if err != nil {
		return err
	}
	tools.Close()
	return nil
}

// checkFile returns the mistakes that 'serve --check' finds in a file.
func checkFile(file string) ([]configcheck.Mistake, error) {
	cmd := New()
	if err := cmd.Flags().Set("config", file); err != nil {
		return nil, err
	}
	v := &serving{cmd: cmd, log: slog.New(slog.DiscardHandler)}
	r, _, _ := v.examine()
	wrong, _ := r.Split(true, "")
	return wrong, nil
}
