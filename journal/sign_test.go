package journal_test

import (
	"bytes"
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/toolpost/toolpost/journal"
)

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	private, public, err := journal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := journal.ParsePrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{public, private} {
		if pub, err := journal.ParsePublicKey(text); err != nil || !pub.Equal(key.Public()) {
			t.Errorf("the public half does not read back: %v", err)
		}
	}
	return key
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
	sig, err := journal.Sign(report, key, time.Now())
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
	for what, forge := range map[string]func(*journal.Signature){
		"time":      func(s *journal.Signature) { s.At = s.At.Add(time.Second) },
		"count":     func(s *journal.Signature) { s.Count++ },
		"seal":      func(s *journal.Signature) { s.Seal = other.Head },
		"key":       func(s *journal.Signature) { s.Key = other.Head },
		"algorithm": func(s *journal.Signature) { s.Algorithm = "none" },
		"signature": func(s *journal.Signature) { s.Sig = "AAAA" },
		"base64":    func(s *journal.Signature) { s.Sig = "!" },
	} {
		attacks++
		forged := sig
		forge(&forged)
		if err := forged.Check(report, public); err == nil {
			t.Errorf("a forged %s passes", what)
		}
	}
	open, _ := check(bytes.Join(lines[:3], nil))
	if _, err := journal.Sign(open, key, time.Now()); err == nil {
		t.Error("an open run is signed")
	}
	broken, _ := check(bytes.Join(lines[1:], nil))
	if _, err := journal.Sign(broken, key, time.Now()); err == nil {
		t.Error("a broken run is signed")
	}
}

func TestInvalidSigningKeys(t *testing.T) {
	for _, text := range []string{"", "secret", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if _, err := journal.ParsePrivateKey([]byte(text)); err == nil {
			t.Errorf("%q is a private key", text)
		}
		if _, err := journal.ParsePublicKey([]byte(text)); err == nil {
			t.Errorf("%q is a public key", text)
		}
	}
}
