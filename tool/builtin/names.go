package builtin

import (
	"path"
	"strings"
	"unicode"
)

// blockedNames are the names of files and folders that hold secrets or private
// data, folded. They match any part of a path, or two parts where the name
// alone is an ordinary one. Copies that editors and people leave next to a file
// are blocked like the file.
var blockedNames = strings.Fields(`
	.env* *.env .flaskenv node_modules .*_history
	.git .gitconfig .git-credentials .hg .hgrc .svn
	.ssh id_rsa* id_dsa* id_ecdsa* id_ed25519* .gnupg secring.*
	*.pem *.key *.p12 *.pfx *.p8 *.jks *.keystore *.jceks *.ppk *.ovpn *.kdbx *.kdb *.keychain *.keychain-db *.agekey wallet.dat
	.aws .azure accesstokens.json msal_token_cache* local.settings.json .oci clouds.y*ml
	.config/gcloud legacy_credentials access_tokens.db application_default_credentials.json gha-creds-*.json
	service-account*.json service_account*.json serviceaccount*.json *-service-account.json *firebase-adminsdk*.json client_secret*.json
	.kube kubeconfig *.kubeconfig .docker .dockercfg .dockerconfigjson containers/auth.json .composer/auth.json .codex/auth.json
	gh/hosts.y*ml .config/hub .fly/config.yml .cf/config.json doctl/config.yaml configstore/*.json ngrok.yml kaggle.json huggingface/*token* .huggingface/*token*
	.npmrc .pypirc .bundle/config .m2/settings.xml settings-security.xml .gradle/gradle.properties
	.netrc _netrc .curlrc .wgetrc .msmtprc .fetchmailrc .smbcredentials .s3cfg .boto .rclone.conf rclone.conf .htpasswd htpasswd
	.pgpass pgpass.conf .pg_service.conf .my.cnf .mylogin.cnf
	.vault-token .terraformrc terraform.rc *.tfstate *.tfstate.* *.tfvars *.tfvars.json
	secrets .secrets .secret secrets.* credentials credentials.* secret.y*ml secret.json secret.toml secret.txt
	*[._\-]secret.y*ml *[._\-]secrets.y*ml *[._\-]secret.json *[._\-]secrets.json
	wp-config.php sftp-config.json .ftpconfig sitemanager.xml recentservers.xml key[34].db logins.json cookies.sqlite cookies.txt`)

// nameSet holds patterns of names, sorted by how they are compared: a search checks
// every name of a tree.
type nameSet struct {
	exact    map[string]bool
	endings  []string // of patterns like *.pem
	patterns []string // all others of one part
	pairs    []string // of two parts
}

func newNameSet(patterns []string) nameSet {
	s := nameSet{exact: make(map[string]bool)}
	for _, p := range patterns {
		switch ending, star := strings.CutPrefix(p, "*"); {
		case strings.Contains(p, "/"):
			s.pairs = append(s.pairs, p)
		case !strings.ContainsAny(p, `*?[\`):
			s.exact[p] = true
		case star && !strings.ContainsAny(ending, `*?[\`):
			s.endings = append(s.endings, ending)
		default:
			s.patterns = append(s.patterns, p)
		}
	}
	return s
}

// has reports whether a folded name in a folded folder matches.
func (s nameSet) has(folder, name string) bool {
	if s.exact[name] {
		return true
	}
	for _, ending := range s.endings {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	for _, p := range s.patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	for _, p := range s.pairs {
		if ok, _ := path.Match(p, folder+"/"+name); ok {
			return true
		}
	}
	return false
}

// blocks reports whether a name is off limits in a folder, of which the last name
// counts.
func (j *jail) blocks(folder, name string) bool {
	folder, name = plainName(path.Base(folder)), plainName(name)
	for {
		if j.blocked.has(folder, name) {
			return true
		}
		original := withoutCopy(name)
		if original == name {
			return false
		}
		name = original
	}
}

// plainName returns the name that a file system may use for a name: Windows
// drops trailing dots and blanks and opens streams after a colon.
func plainName(name string) string {
	name, _, _ = strings.Cut(strings.TrimRight(fold(name), ". "), ":")
	return name
}

// fold returns a name as file systems that ignore case compare it: some know
// the case of all letters, and some leave out characters that are not seen.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, name)
}

// copyEndings are the endings that editors and people add to the name of a copy.
var copyEndings = []string{"~", "#", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo", ".tmp", ".copy"}

// withoutCopy removes the ending of a copy from a file name.
func withoutCopy(name string) string {
	for _, suffix := range copyEndings {
		if before, ok := strings.CutSuffix(name, suffix); ok && before != "" {
			return before
		}
	}
	if before := strings.TrimRight(name, "0123456789"); before != name && strings.HasSuffix(before, ".") && len(before) > 1 {
		return strings.TrimSuffix(before, ".")
	}
	for _, prefix := range []string{".#", "#"} {
		if after, ok := strings.CutPrefix(name, prefix); ok && after != "" {
			return after
		}
	}
	return name
}
