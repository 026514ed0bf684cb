package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// UserFile returns where the user's models.yaml is: the value of
// TOOLPOST_MODELS, or toolpost/models.yaml in the folder for configuration.
func UserFile() (string, error) {
	if file := os.Getenv("TOOLPOST_MODELS"); file != "" {
		return file, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "toolpost", "models.yaml"), nil
}

// CacheDir returns the folder of imported databases.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "toolpost", "models"), nil
}

// ForUser returns the catalogue of this user: the embedded one, the imported
// databases, and the file, or UserFile if file is empty. Only a file given by
// name must exist.
func ForUser(file string) (*Catalog, error) {
	c := Default()
	if dir, err := CacheDir(); err == nil { // without a home directory there are no imports
		if c, err = c.importDir(dir); err != nil {
			return nil, err
		}
	}
	if file != "" {
		return c.loadFile(file)
	}
	file, err := UserFile()
	if err != nil {
		return c, nil // without a home directory there cannot be a file
	}
	d, err := c.loadFile(file)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("TOOLPOST_MODELS") == "" {
		return c, nil
	}
	return d, err
}

// Models lists the catalogue: one model for each example of the embedded
// families, then the user's own ids in alphabetical order.
func (c *Catalog) Models() []Model {
	var all []Model
	for _, f := range vocabulary().order {
		for _, id := range f.examples {
			all = append(all, c.Lookup(id))
		}
	}
	var own []string
	for _, i := range c.exact[user] {
		own = append(own, c.rules[i].name)
	}
	slices.Sort(own)
	for _, id := range own {
		all = append(all, c.Lookup(id))
	}
	return all
}

// importDir adds every database in the folder, in the order of their names.
func (c *Catalog) importDir(dir string) (*Catalog, error) {
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
		if c, err = c.importFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, fmt.Errorf("%w; remove the file or run toolpost models update again", err)
		}
	}
	return c, nil
}
