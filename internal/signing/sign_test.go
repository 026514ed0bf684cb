package signing_test

import (
	"bytes"
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/signing"
	"github.com/toolpost/toolpost/journal"
)

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	private, public, err := signing.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := signing.ParsePrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{public, private} {
		if pub, err := signing.ParsePublicKey(text); err != nil || !pub.Equal(key.Public()) {
			t.Errorf("the public half does not read back: %v", err)
		}
	}
	return key
}

// sealedFile returns the lines of a sealed run.
func sealedFile(t *testing.T, run string) (file [][]byte) {
	t.Helper()
	store := new(journal.Memory)
	r, err := journal.Open(t.Context(), store, run)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		if _, err := r.Write(t.Context(), "note", map[string]int{"n": n}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for e, err := range store.Read(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		file = append(file, append(line, '\n'))
	}
	return file
}

func check(file []byte) (*journal.Report, error) {
	return journal.VerifyLines(journal.Lines(bytes.NewReader(file)))
}

func TestSignature(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	key := newKey(t)
	public := key.Public().(ed25519.PublicKey)
	lines := sealedFile(t, "r")
	report, err := check(bytes.Join(lines, nil))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := signing.Sign(report, key, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := sig.Check(report, public); err != nil {
		t.Error(err)
	}
	if err := sig.Check(report, newKey(t).Public().(ed25519.PublicKey)); err == nil {
		t.Error("another key passes")
	}
	// Somebody rewrites the whole run: it verifies, but it is not what was signed.
	other, err := check(bytes.Join(sealedFile(t, "other"), nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := sig.Check(other, public); err == nil {
		t.Error("another run passes")
	}
	for what, forge := range map[string]func(*signing.Signature){
		"time":      func(s *signing.Signature) { s.At = s.At.Add(time.Second) },
		"count":     func(s *signing.Signature) { s.Count++ },
		"seal":      func(s *signing.Signature) { s.Seal = other.Head },
		"key":       func(s *signing.Signature) { s.Key = other.Head },
		"algorithm": func(s *signing.Signature) { s.Algorithm = "none" },
		"signature": func(s *signing.Signature) { s.Sig = "AAAA" },
		"base64":    func(s *signing.Signature) { s.Sig = "!" },
	} {
		attacks++
		forged := sig
		forge(&forged)
		if err := forged.Check(report, public); err == nil {
			t.Errorf("a forged %s passes", what)
		}
	}
	open, _ := check(bytes.Join(lines[:3], nil))
	if _, err := signing.Sign(open, key, time.Now()); err == nil {
		t.Error("an open run is signed")
	}
	broken, _ := check(bytes.Join(lines[1:], nil))
	if _, err := signing.Sign(broken, key, time.Now()); err == nil {
		t.Error("a broken run is signed")
	}
}

func TestInvalidSigningKeys(t *testing.T) {
	for _, text := range []string{"", "secret", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if _, err := signing.ParsePrivateKey([]byte(text)); err == nil {
			t.Errorf("%q is a private key", text)
		}
		if _, err := signing.ParsePublicKey([]byte(text)); err == nil {
			t.Errorf("%q is a public key", text)
		}
	}
}
