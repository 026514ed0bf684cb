package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// TaskConfig is a named task, with settings that apply unless flags override them.
type TaskConfig struct {
	Task     string   `yaml:"task"`
	Model    string   `yaml:"model"`
	System   string   `yaml:"system"`
	Allow    []string `yaml:"allow"`
	Tools    []string `yaml:"tools"`
	MaxTurns int      `yaml:"max_turns"`
}

// checkTasks refuses invalid names and empty tasks.
func checkTasks(tasks map[string]TaskConfig) error {
	for name, t := range tasks {
		switch {
		case name == "" || strings.ContainsAny(name, " \t\n@"):
			return fmt.Errorf("%q cannot be a name: it is one word", name)
		case strings.TrimSpace(t.Task) == "":
			return fmt.Errorf("%s has no task", name)
		}
	}
	return nil
}

// Named replaces "@name" and its arguments by the text of the task, and applies the task's settings. Other arguments
// are returned unchanged.
func (s *Settings) Named(cmd *cobra.Command, args []string) ([]string, error) {
	if len(args) == 0 || !strings.HasPrefix(args[0], "@") || strings.ContainsAny(args[0], " \n") {
		return args, nil
	}
	name := args[0][1:]
	t, ok := s.Tasks[name]
	if !ok {
		names := slices.Sorted(maps.Keys(s.Tasks))
		if len(names) == 0 {
			return nil, cli.Usagef(cmd, "there is no task %s: the configuration has none under tasks", name)
		}
		return nil, cli.Usagef(cmd, "there is no task %s%s (there are %s)", name, cli.DidYouMean(name, names), strings.Join(names, ", "))
	}
	text, err := FillTask(t.Task, args[1:])
	if err != nil {
		return nil, cli.Usagef(cmd, "@%s: %w", name, err)
	}
	s.takeTask(name, t)
	return []string{text}, s.Check()
}

// takeTask applies the settings of a task, unless a flag sets them.
func (s *Settings) takeTask(name string, t TaskConfig) {
	values := map[string]any{"model": t.Model, "system": t.System, "allow": t.Allow, "tools": t.Tools, "max_turns": t.MaxTurns}
	for _, row := range Table {
		if v, there := values[row.Key]; there && !reflect.ValueOf(v).IsZero() {
			s.take(row, "the task "+name, v)
		}
	}
}

// maxPlaceholders is the highest number of a placeholder.
const maxPlaceholders = 9

func placeholder(i int) string { return "{" + strconv.Itoa(i) + "}" }

// Placeholders returns the highest number of a placeholder in a template, 0 if there is none.
func Placeholders(template string) int {
	for i := maxPlaceholders; i > 0; i-- {
		if strings.Contains(template, placeholder(i)) {
			return i
		}
	}
	return 0
}

// FillTask fills arguments into a template: {1} to {9} are single arguments and {args} all of them. Without
// placeholders the arguments follow the text. Placeholders within arguments are not replaced.
func FillTask(template string, args []string) (string, error) {
	all := strings.Join(args, " ")
	pairs := []string{"{args}", all}
	most := Placeholders(template)
	for i, arg := range args[:min(len(args), maxPlaceholders)] {
		pairs = append(pairs, placeholder(i+1), arg)
	}
	switch {
	case most > len(args):
		return "", fmt.Errorf("it needs %s: %s", cli.Count(most, "argument"), cli.FirstLine(template, 80))
	case most == 0 && !strings.Contains(template, "{args}"):
		return strings.TrimSpace(template + " " + all), nil
	case most > 0 && len(args) > most && !strings.Contains(template, "{args}"):
		return "", fmt.Errorf("it takes %s, and there are %d: %s", cli.Count(most, "argument"), len(args), cli.FirstLine(template, 80))
	}
	return strings.NewReplacer(pairs...).Replace(template), nil
}
