package signing

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/journal"
)

// Anchor records how many entries each run of a store had at a time. The chain of a
// run shows changes of its entries, but not that the run is gone or that its end was
// cut off while it was open. An anchor that is kept elsewhere shows that too. The
// anchors of a store form a separate chain, each with the hash of the one before, and
// each is signed.
type Anchor struct {
	N         int64        `json:"n"` // 1 for the first
	At        time.Time    `json:"at"`
	Prev      journal.Hash `json:"prev,omitempty"` // of the anchor before
	Runs      []Head       `json:"runs"`           // by name
	Algorithm string       `json:"algorithm"`      // ed25519
	Key       journal.Hash `json:"key"`            // of the public key, to tell keys apart
	Sig       string       `json:"sig"`            // base64
}

// Head is how far a run has got: the number of its entries and the hash of the
// last.
type Head struct {
	Run    string       `json:"run"`
	Count  int64        `json:"count"`
	Head   journal.Hash `json:"head"`
	Sealed bool         `json:"sealed,omitempty"`
}

// Hash returns the hash of the anchor, signature included, which the next one
// names.
func (a Anchor) Hash() (journal.Hash, error) {
	b, err := encode(a)
	return hashOf(b), err
}

func (a Anchor) payload() ([]byte, error) {
	a.Sig = ""
	return encode(struct {
		Purpose string `json:"purpose"`
		Anchor
	}{"toolpost anchor v1", a})
}

// NewAnchor signs the heads of the runs of reports, which Verify found whole.
// before is the last anchor of the chain, nil if there is none.
func NewAnchor(before *Anchor, runs []*journal.Report, key ed25519.PrivateKey, at time.Time) (Anchor, error) {
	public := key.Public().(ed25519.PublicKey)
	a := Anchor{N: 1, At: at.UTC().Truncate(time.Second), Runs: []Head{}, Algorithm: ed25519Name, Key: KeyID(public)}
	if before != nil {
		var err error
		if a.Prev, err = before.Hash(); err != nil {
			return a, err
		}
		a.N = before.N + 1
	}
	for _, r := range runs {
		if err := r.Err(); err != nil {
			return a, err
		}
		a.Runs = append(a.Runs, Head{r.Run, r.Entries, r.Head, r.Sealed})
	}
	slices.SortFunc(a.Runs, func(x, y Head) int { return strings.Compare(x.Run, y.Run) })
	b, err := a.payload()
	if err != nil {
		return a, err
	}
	a.Sig = base64.StdEncoding.EncodeToString(ed25519.Sign(key, b))
	return a, nil
}

// CheckAnchors returns an error unless anchors are a chain from its beginning,
// each signed with key. A nil key leaves the signatures unchecked. It cannot know
// whether the last anchors are missing.
func CheckAnchors(anchors []Anchor, key ed25519.PublicKey) error {
	var prev journal.Hash
	for i, a := range anchors {
		if a.N != int64(i+1) || a.Prev != prev {
			return fmt.Errorf("journal: anchor %d does not follow the one before it: anchors were changed, removed or moved", i+1)
		}
		if key != nil {
			if err := a.signedBy(key); err != nil {
				return fmt.Errorf("journal: anchor %d: %w", i+1, err)
			}
		}
		var err error
		if prev, err = a.Hash(); err != nil {
			return err
		}
	}
	return nil
}

func (a Anchor) signedBy(key ed25519.PublicKey) error {
	if a.Algorithm != ed25519Name || a.Key != KeyID(key) {
		return fmt.Errorf("it is signed by key %s (%s), not by %s", a.Key.Short(), a.Algorithm, KeyID(key).Short())
	}
	b, err := a.payload()
	if err != nil {
		return err
	}
	if !genuine(b, a.Sig, key) {
		return errors.New("the signature is not genuine")
	}
	return nil
}

// ParseAnchor reads the line of an anchor. It accepts only the bytes that Line
// returns.
func ParseAnchor(line []byte) (Anchor, error) {
	var a Anchor
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("journal: not an anchor: %w", err)
	}
	again, err := a.Line()
	if err == nil && string(again) != string(line) {
		err = errors.New("journal: the line is not the canonical form of an anchor")
	}
	return a, err
}

// Line returns the anchor's canonical form, the line it has in a file.
func (a Anchor) Line() ([]byte, error) { return encode(a) }
