// Package signing signs sealed runs, and the heads of all runs of a store.
package signing

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/toolpost/toolpost/journal"
)

// Signature says that the holder of a key has seen a sealed run. The seal's
// hash covers every entry, so a signature of the seal is one of the run. It is
// kept apart from the run, which ends with its seal.
type Signature struct {
	Run       string       `json:"run"`
	Count     int64        `json:"count"` // of the entries, the seal included
	Seal      journal.Hash `json:"seal"`  // of the seal's entry
	At        time.Time    `json:"at"`
	Algorithm string       `json:"algorithm"` // ed25519
	Key       journal.Hash `json:"key"`       // of the public key, to tell keys apart
	Sig       string       `json:"sig"`       // base64
}

const ed25519Name = "ed25519"

// payload is the signed text: everything but the signature, with a purpose that no
// other document has.
func (s Signature) payload() ([]byte, error) {
	s.Sig = ""
	return encode(struct {
		Purpose string `json:"purpose"`
		Signature
	}{"toolpost sealed run v1", s})
}

// Sign signs a run that Verify found whole and sealed.
func Sign(r *journal.Report, key ed25519.PrivateKey, at time.Time) (Signature, error) {
	if err := r.Err(); err != nil {
		return Signature{}, err
	}
	if !r.Sealed {
		return Signature{}, fmt.Errorf("journal: run %s is open; only a sealed run can be signed", r.Run)
	}
	public := key.Public().(ed25519.PublicKey)
	s := Signature{Run: r.Run, Count: r.Entries, Seal: r.Head, At: at.UTC().Truncate(time.Second), Algorithm: ed25519Name, Key: KeyID(public)}
	b, err := s.payload()
	if err != nil {
		return Signature{}, err
	}
	s.Sig = base64.StdEncoding.EncodeToString(ed25519.Sign(key, b))
	return s, nil
}

// Check returns an error unless s is a signature of the run of r by key. The
// key is the one the caller trusts: what the signature itself says about its
// key proves nothing.
func (s Signature) Check(r *journal.Report, key ed25519.PublicKey) error {
	if s.Algorithm != ed25519Name || s.Key != KeyID(key) {
		return fmt.Errorf("journal: the signature is of key %s (%s), not of %s", s.Key.Short(), s.Algorithm, KeyID(key).Short())
	}
	b, err := s.payload()
	if err != nil {
		return err
	}
	if !genuine(b, s.Sig, key) {
		return errors.New("journal: the signature is not genuine")
	}
	return s.About(r)
}

// About returns an error unless s names the run of r with its number of entries and its seal. It
// needs no key, and does not check who signed.
func (s Signature) About(r *journal.Report) error {
	if s.Run != r.Run || s.Count != r.Entries || s.Seal != r.Head {
		return fmt.Errorf("journal: the signature is of run %s with %d entries and seal %s, not of run %s with %d and %s",
			s.Run, s.Count, s.Seal.Short(), r.Run, r.Entries, r.Head.Short())
	}
	return nil
}

// genuine reports whether sig, in base64, is the signature of b by key.
func genuine(b []byte, sig string, key ed25519.PublicKey) bool {
	raw, err := base64.StdEncoding.DecodeString(sig)
	return err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, b, raw)
}

// KeyID returns the hash of a public key.
func KeyID(key ed25519.PublicKey) journal.Hash { return hashOf(key) }

func hashOf(b []byte) journal.Hash {
	sum := sha256.Sum256(b)
	return journal.Hash("sha256:" + hex.EncodeToString(sum[:]))
}

// encode returns the canonical form of v's JSON.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return journal.Canonical(b)
}

// The types of PEM blocks, as other programs write them too.
const (
	pemPrivate = "PRIVATE KEY"
	pemPublic  = "PUBLIC KEY"
)

// NewKey makes a key pair and returns both halves in PEM.
func NewKey() (private, public []byte, err error) {
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	privDER, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		return nil, nil, err
	}
	pubDER, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: privDER}), pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: pubDER}), nil
}

// ParsePrivateKey reads an Ed25519 key in PEM (PKCS #8), as NewKey or openssl
// write it. Its errors do not quote the text.
func ParsePrivateKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemPrivate {
		return nil, errors.New("not a private key in PEM (PKCS #8)")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a readable private key")
	}
	if key, ok := key.(ed25519.PrivateKey); ok {
		return key, nil
	}
	return nil, errors.New("not an Ed25519 key")
}

// ParsePublicKey reads an Ed25519 public key in PEM, or the public half of a
// private one.
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block != nil && block.Type == pemPrivate {
		key, err := ParsePrivateKey(text)
		if err != nil {
			return nil, err
		}
		return key.Public().(ed25519.PublicKey), nil
	}
	if block == nil || block.Type != pemPublic {
		return nil, errors.New("not a public key in PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a readable public key")
	}
	if key, ok := key.(ed25519.PublicKey); ok {
		return key, nil
	}
	return nil, errors.New("not an Ed25519 key")
}
