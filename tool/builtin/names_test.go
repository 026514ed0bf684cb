package builtin

import (
	"path"
	"strings"
	"testing"
)

// secretFiles are paths that commonly hold secrets, and openFiles are neighbours
// of theirs that people work with.
var (
	secretFiles = strings.Fields(`
		.env .env.local .env-prod .envrc prod.env app/.env.example .flaskenv .git/config .gitconfig .git-credentials .hg/hgrc .hgrc .svn/entries
		.ssh/config .ssh/known_hosts id_rsa id_rsa.pub id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk.bak deploy/id_ed25519_work .gnupg/secring.gpg secring.gpg
		.aws/credentials .aws/config .azure/accessTokens.json .azure/azureProfile.json accessTokens.json msal_token_cache.json msal_token_cache.bin local.settings.json
		.kube/config kubeconfig prod.kubeconfig .docker/config.json .dockercfg .dockerconfigjson containers/auth.json .composer/auth.json .codex/auth.json
		.config/gh/hosts.yml gh/hosts.yml GH/Hosts.YML .config/gh/hosts.yml.bak .config/hub .config/gcloud/credentials.db .config/gcloud/access_tokens.db .config/gcloud/properties gcloud/legacy_credentials/x/adc.json
		application_default_credentials.json service-account.json service-account-prod.json service_account.json serviceAccountKey.json my-service-account.json app-firebase-adminsdk-x1.json client_secret.json client_secret_123.apps.googleusercontent.com.json
		.npmrc .pypirc .netrc _netrc .pgpass pgpass.conf .pg_service.conf .my.cnf .mylogin.cnf .htpasswd htpasswd .s3cfg .boto .curlrc .wgetrc .msmtprc .fetchmailrc .smbcredentials .rclone.conf rclone.conf
		.vault-token .terraformrc terraform.rc credentials.tfrc.json terraform.tfstate terraform.tfstate.backup terraform.tfstate.1690000000.backup terraform.tfstate.d/prod/x prod.tfvars prod.auto.tfvars.json
		server.pem server.pem~ server.key tls.KEY server.key.1 bundle.p12 bundle.pfx AuthKey_X.p8 store.jks release.keystore app.jceks team.ppk office.ovpn passwords.kdbx passwords.kdb login.keychain login.keychain-db wallet.dat age.agekey
		secrets secrets/db.txt .secrets .secret secrets.yaml secrets.json secret.yaml secret.yml secret.json secret.toml secret.txt db-secret.yaml app_secrets.yml app.secrets.json credentials credentials.json credentials.csv .cargo/credentials.toml
		gha-creds-1f.json clouds.yaml .oci/config kaggle.json .huggingface/token huggingface/token huggingface/stored_tokens .m2/settings.xml settings-security.xml .gradle/gradle.properties .bundle/config .fly/config.yml .cf/config.json doctl/config.yaml configstore/firebase-tools.json ngrok.yml
		wp-config.php sftp-config.json .ftpconfig sitemanager.xml recentservers.xml key4.db logins.json cookies.sqlite cookies.txt .bash_history .psql_history .python_history node_modules/x/index.js`)
	openFiles = strings.Fields(`
		environment.md env.go envs/readme.md git.md .gitignore .gitattributes .github/workflows/ci.yml gitconfig.md hosts.yml ansible/hosts.yml inventory/hosts.yaml gh/readme.md gcloud.md docs/gcloud/setup.md
		ssh.md id_card.py id_map.json ids.go idea.txt kube.md k8s/config.yaml docker-compose.yml Dockerfile docker/config.json aws.md azure.go terraform/main.tf variables.tf terraform.md .terraform.lock.hcl
		service.json service-accounts.md accounts.json account.json client.json auth.json locales/en/auth.json auth.go authors.json token.go tokens.json design/tokens.json settings.xml gradle.properties config.json config.yml config.toml
		package.json .nvmrc .prettierrc .eslintrc .editorconfig pem.go key.go keys.md keyboard.json monkey.txt turkey.csv public.crt server.crt chain.cert my.cnf history.md changelog_history.md
		secretary.txt secret_santa.md secretly.json secret.go docs/managing-secrets.md managing-secrets.html credential.go wallet.go password.go passwords.go cookies.go cookies.md logins.go login.html database.yml appsettings.json local.json settings.json npmrc.md v1.2 notes.1`)
)

// blockedPath reports whether a part of a path is off limits.
func (j *jail) blockedPath(name string) bool {
	return j.allowed(name, name) != nil
}

// Every name that commonly holds secrets is off limits, and no neighbour of one.
func TestBlockedNames(t *testing.T) {
	j, err := openJail(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.root.Close()
	for _, name := range secretFiles {
		if !j.blockedPath(name) || !j.blockedPath("sub/"+name) || !j.blockedPath(strings.ToUpper(name)) {
			t.Errorf("%s can be read", name)
		}
	}
	for _, name := range openFiles {
		if j.blockedPath(name) || j.blockedPath("sub/"+name) {
			t.Errorf("%s is off limits", name)
		}
	}
	for _, pattern := range blockedNames { // every row has a case
		used := false
		for _, name := range secretFiles {
			parts := strings.Split(fold(name), "/")
			for i, part := range parts {
				one, _ := path.Match(pattern, part)
				two, _ := path.Match(pattern, path.Join(parts[max(0, i-1)], part))
				used = used || one || i > 0 && two
			}
		}
		if !used {
			t.Errorf("no case for %s", pattern)
		}
	}
	t.Logf("%d attacks", 3*len(secretFiles))
}
