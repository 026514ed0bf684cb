package journal

import "os"

// OnSync calls report with the name of each file the store waits for.
func (d *Dir) OnSync(report func(name string) error) {
	d.flush = func(f *os.File) error { return report(f.Name()) }
}
