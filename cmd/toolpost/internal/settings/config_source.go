package settings

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/internal/yamlcheck"
)

// OwnFile is configFile for commands that require a file.
func OwnFile(cmd *cobra.Command) (string, error) {
	file, _ := File(cmd)
	if file == "" {
		return "", errors.New("there is no home directory for a configuration file; name one with --config")
	}
	return file, nil
}

// DecodeFile parses the text of a configuration file as strictly as readFile.
func DecodeFile(text []byte) (Settings, error) {
	var s Settings
	if len(text) > MaxConfig {
		return s, fmt.Errorf("more than %d bytes", MaxConfig)
	}
	if err := yamlcheck.Check(text); err != nil {
		return s, err
	}
	_, err := Decode(text, &s)
	var at yaml.Error
	if err != nil && errors.As(err, &at) && at.GetToken() != nil {
		return s, fmt.Errorf("line %d: %s", at.GetToken().Position.Line, at.GetMessage())
	}
	return s, err
}
