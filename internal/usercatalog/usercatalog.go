// Package usercatalog reads and extends the catalogue of the user who runs the command: models.yaml and imported databases.
package usercatalog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolpost/toolpost/catalog"
)

// maxFile is the limit of a models.yaml in bytes.
const maxFile = 1 << 20

// File returns where the user's models.yaml is: the value of
// TOOLPOST_MODELS, or toolpost/models.yaml in the folder for configuration.
func File() (string, error) {
	if file := os.Getenv("TOOLPOST_MODELS"); file != "" {
		return file, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "toolpost", "models.yaml"), nil
}

// LearnedFile is the file next to models.yaml with what 'eval learn' found. The user's own file overrides it.
const LearnedFile = "learned.yaml"

// Beside returns a file in the folder of models.yaml.
func Beside(name string) (string, error) {
	file, err := File()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(file), name), nil
}

// CacheDir returns the folder of imported databases.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "toolpost", "models"), nil
}

// Open returns the catalogue of this user: the embedded one, the imported
// databases, what was learned, and the file, or File if file is empty. Only a file given by
// name must exist.
func Open(file string) (*catalog.Catalog, error) {
	c := catalog.Default()
	if dir, err := CacheDir(); err == nil { // without a home directory there are no imports
		if c, err = importDir(c, dir); err != nil {
			return nil, err
		}
	}
	if learned, err := Beside(LearnedFile); err == nil {
		switch d, err := loadFile(c, learned); {
		case err == nil:
			c = d
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w; 'toolpost eval learn --reset' removes the file", err)
		}
	}
	if file != "" {
		return loadFile(c, file)
	}
	file, err := File()
	if err != nil {
		return c, nil // without a home directory there cannot be a file
	}
	d, err := loadFile(c, file)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("TOOLPOST_MODELS") == "" {
		return c, nil
	}
	return d, err
}

// loadFile adds the rules of a file.
func loadFile(c *catalog.Catalog, name string) (*catalog.Catalog, error) {
	data, err := readBounded(name)
	if err != nil {
		return nil, err
	}
	return c.Load(name, data)
}

// readBounded reads a file of at most maxFile bytes.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && int64(len(data)) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes", name, maxFile)
	}
	return data, err
}

// importDir adds every database in the folder, in the order of their names.
func importDir(c *catalog.Catalog, dir string) (*catalog.Catalog, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		if c, err = importFile(c, filepath.Join(dir, e.Name())); err != nil {
			return nil, fmt.Errorf("%w; remove the file or run toolpost models update again", err)
		}
	}
	return c, nil
}

// importFile imports a saved database.
func importFile(c *catalog.Catalog, name string) (*catalog.Catalog, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if c, err = c.Import(f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}
