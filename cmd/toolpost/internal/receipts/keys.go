package receipts

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/internal/signing"
	"github.com/toolpost/toolpost/journal"
)

func newReceiptsKeygen() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a key to sign runs with",
		Long: `Write a new Ed25519 key to FILE, readable by you alone, and its public half to
FILE.pub, which is for everybody who is to check your signatures.`,
		Example: "  toolpost receipts keygen audit.key",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			private, public, err := signing.NewKey()
			if err != nil {
				return err
			}
			if err := writeNew(args[0], private, 0o600); err != nil {
				return err
			}
			if err := writeNew(args[0]+".pub", public, 0o644); err != nil {
				return err
			}
			key, err := signing.ParsePublicKey(public)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "key %s: keep %s, give away %s.pub\n", signing.KeyID(key).Short(), args[0], args[0])
			return err
		},
	}
}

// writeNew writes a file that must not exist yet.
func writeNew(path string, content []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func newReceiptsSign() *cobra.Command {
	var keyFile, sigFile string
	cmd := &cobra.Command{
		Use:   "sign RUN|FILE",
		Short: "Sign a sealed run",
		Long: `Sign a sealed run with an Ed25519 key, so that a run that was replaced as a whole is
noticed too. The run is verified first. The signature is added to a file next to the run,
RUN.sig, or to --sig; several may sign.

The key is a file in PEM (PKCS #8) that only you can read, as 'toolpost receipts keygen'
or openssl make it.`,
		Example: "  toolpost receipts sign --key audit.key RUN",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if keyFile == "" {
				return cli.Usagef(cmd, "name the key with --key FILE")
			}
			return signRun(cmd, args[0], keyFile, sigFile)
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "the private key `FILE`")
	cmd.Flags().StringVar(&sigFile, "sig", "", "the `FILE` to add the signature to (default: next to the run)")
	return cmd
}

func signRun(cmd *cobra.Command, target, keyFile, sigFile string) error {
	key, err := readPrivateKey(keyFile)
	if err != nil {
		return err
	}
	src, done, err := runstore.Find(cmd, target)
	if err != nil {
		return err
	}
	defer done()
	if sigFile != "" {
		src.Sig = sigFile
	}
	if src.Sig == "" {
		return cli.Usagef(cmd, "a database has no place for signatures; name a file with --sig")
	}
	report, err := journal.VerifyLines(src.Lines(cmd.Context()))
	if err != nil {
		return err
	}
	sig, err := signing.Sign(report, key, time.Now())
	if err != nil {
		return err
	}
	if err := addSignature(src.Sig, sig); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s signed by key %s in %s\n", report.Run, sig.Key.Short(), src.Sig)
	return err
}

// maxKey limits the size of a key file.
const maxKey = 64 << 10

// readPrivateKey reads a private key. The file must not be readable by other users.
func readPrivateKey(path string) (ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s can be read by others (mode %04o); make it private with chmod 600, and the key new", path, info.Mode().Perm())
	}
	text, err := cli.ReadFile(path, maxKey)
	if err != nil {
		return nil, err
	}
	key, err := signing.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// addSignature appends a line to a file of signatures.
func addSignature(path string, sig signing.Signature) error {
	line, err := json.Marshal(sig)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// readSignatures reads a file of signatures. It returns none if the file does not exist.
func readSignatures(path string) ([]signing.Signature, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readOptional(path)
	if err != nil {
		return nil, err
	}
	if text != nil && len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s is empty: its signatures were removed or never written", path)
	}
	var sigs []signing.Signature
	for line := range bytes.Lines(text) {
		var s signing.Signature
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%s: line %d is not a signature: %w", path, len(sigs)+1, err)
		}
		sigs = append(sigs, s)
	}
	return sigs, nil
}
