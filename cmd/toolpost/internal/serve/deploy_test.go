package serve_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/yamlcheck"
)

const deployDir = "../../../../deploy"

// manifest holds the parts of a Kubernetes file that the test checks.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string
	Resources  []string
	Spec       struct {
		Ports []struct {
			TargetPort string `yaml:"targetPort"`
		}
		Selector struct {
			Labels map[string]string `yaml:"matchLabels"`
			Name   string            `yaml:"app.kubernetes.io/name"`
		}
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     struct {
				Grace    int `yaml:"terminationGracePeriodSeconds"`
				Security struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				Containers []struct {
					Args  []string
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					Liveness  probe `yaml:"livenessProbe"`
					Readiness probe `yaml:"readinessProbe"`
					Lifecycle struct {
						PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
					}
					Security struct {
						Escalation *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnly   bool  `yaml:"readOnlyRootFilesystem"`
					} `yaml:"securityContext"`
					Mounts []struct{ Name, MountPath string } `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name      string
					ConfigMap struct{ Name string } `yaml:"configMap"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	Period  int                         `yaml:"periodSeconds"`
}

// beyondDrain is how long a gateway may run after drain: for errors that end streams, for connections, and for pending
// writes.
const beyondDrain = 3 * serve.EndTime

// configured checks a configuration of deploy, and returns the parsed result.
func configured(t *testing.T, file string) settings.GatewayConfig {
	t.Helper()
	t.Setenv("TOOLPOST_CONFIG", "")
	args := []string{"serve", "--check", "--config", file}
	if os.Getenv(keys.StoreEnv) == "" {
		args = append(args, "--keys", "sqlite:"+filepath.Join(t.TempDir(), "keys.db")) // a file in an existing folder
	}
	programtest.Must(t, programtest.Run(t, "", args...), 0, "the routes are in order")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.DecodeFile(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Gateway
}

func port(addr string) int {
	n, _ := strconv.Atoi(addr[strings.LastIndexByte(addr, ':')+1:])
	return n
}

// manifests reads the Kubernetes files by kind. It checks that all of them are listed and have only known fields.
func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(deployDir, "kubernetes", "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	all := map[string]manifest{}
	var listed, there []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var m manifest
		var fields map[string]any
		if err := errors.Join(yaml.Unmarshal(text, &m), yaml.Unmarshal(text, &fields)); err != nil || m.APIVersion == "" || m.Kind == "" {
			t.Fatalf("%s: %v", file, err)
		}
		for _, path := range unknownFields(fields, m.Kind, "") {
			t.Errorf("%s: a %s has no %s, or it is not in the list of this test", file, m.Kind, path)
		}
		all[m.Kind] = m
		if m.Kind == "Kustomization" {
			listed = m.Resources
		} else {
			there = append(there, filepath.Base(file))
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, there) {
		t.Errorf("kustomization.yaml lists %v of %v", listed, there)
	}
	return all
}

// knownFields are the Kubernetes fields in use, by kind; * matches any name. Kubernetes drops or refuses unknown
// fields.
var knownFields = map[string][]string{
	"": {"apiVersion", "kind", "metadata.name", "metadata.labels.*"},
	"Deployment": {"spec.replicas", "spec.selector.matchLabels.*", "spec.template.metadata.labels.*", "spec.template.metadata.annotations.*",
		"spec.template.spec.automountServiceAccountToken", "spec.template.spec.terminationGracePeriodSeconds",
		"spec.template.spec.securityContext.runAsNonRoot", "spec.template.spec.securityContext.runAsUser", "spec.template.spec.securityContext.runAsGroup",
		"spec.template.spec.securityContext.fsGroup", "spec.template.spec.securityContext.seccompProfile.type",
		"spec.template.spec.containers.name", "spec.template.spec.containers.image", "spec.template.spec.containers.args", "spec.template.spec.containers.envFrom.secretRef.name",
		"spec.template.spec.containers.ports.name", "spec.template.spec.containers.ports.containerPort",
		"spec.template.spec.containers.livenessProbe.httpGet.path", "spec.template.spec.containers.livenessProbe.httpGet.port",
		"spec.template.spec.containers.readinessProbe.httpGet.path", "spec.template.spec.containers.readinessProbe.httpGet.port", "spec.template.spec.containers.readinessProbe.periodSeconds",
		"spec.template.spec.containers.lifecycle.preStop.sleep.seconds", "spec.template.spec.containers.resources.requests.*", "spec.template.spec.containers.resources.limits.*",
		"spec.template.spec.containers.securityContext.allowPrivilegeEscalation", "spec.template.spec.containers.securityContext.readOnlyRootFilesystem",
		"spec.template.spec.containers.securityContext.capabilities.drop", "spec.template.spec.containers.volumeMounts.name", "spec.template.spec.containers.volumeMounts.mountPath",
		"spec.template.spec.containers.volumeMounts.readOnly", "spec.template.spec.volumes.name", "spec.template.spec.volumes.configMap.name", "spec.template.spec.volumes.emptyDir"},
	"Service":             {"spec.selector.*", "spec.ports.name", "spec.ports.port", "spec.ports.targetPort"},
	"ConfigMap":           {"data.*"},
	"PodDisruptionBudget": {"spec.minAvailable", "spec.selector.matchLabels.*"},
	"Kustomization":       {"resources"},
}

// unknownFields returns the paths of unknown fields.
func unknownFields(v any, kind, path string) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, each := range v {
			list = append(list, unknownFields(each, kind, strings.TrimPrefix(path+"."+name, "."))...)
		}
		if len(v) > 0 {
			return list
		}
	case []any:
		for _, each := range v {
			if _, plain := each.(string); !plain {
				list = append(list, unknownFields(each, kind, path)...)
			}
		}
		if len(v) > 0 && (len(list) > 0 || !isText(v[0])) {
			return list
		}
	}
	for _, known := range slices.Concat(knownFields[""], knownFields[kind]) {
		if before, any := strings.CutSuffix(known, "*"); path == known || any && strings.HasPrefix(path, before) {
			return nil
		}
	}
	return []string{path}
}

func isText(v any) bool {
	_, is := v.(string)
	return is
}

// TestKubernetes checks that the manifests match each other and their configuration.
func TestKubernetes(t *testing.T) {
	all := manifests(t)
	pod := all["Deployment"].Spec.Template.Spec
	c := pod.Containers[0]
	t.Setenv("TOOLPOST_GATEWAY_KEYS", "postgres://db.example.org/toolpost") // from the secret
	name := c.Args[len(c.Args)-1]
	file := filepath.Join(t.TempDir(), filepath.Base(name))
	programtest.WriteFile(t, file, all["ConfigMap"].Data[filepath.Base(name)])
	config := configured(t, file)
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if ports["http"] != port(config.Addr) || ports["ops"] != port(config.Ops.OpsAddr) || all["Service"].Spec.Ports[0].TargetPort != "http" {
		t.Errorf("ports %v, configured %s and %s", ports, config.Addr, config.Ops.OpsAddr)
	}
	if c.Liveness.HTTPGet != (struct{ Path, Port string }{"/healthz", "ops"}) || c.Readiness.HTTPGet != (struct{ Path, Port string }{"/readyz", "ops"}) {
		t.Errorf("probes %+v, %+v", c.Liveness, c.Readiness)
	}
	if wait := time.Duration(pod.Grace-c.Lifecycle.PreStop.Sleep.Seconds) * time.Second; wait < config.Ops.Drain+beyondDrain || c.Lifecycle.PreStop.Sleep.Seconds < c.Readiness.Period {
		t.Errorf("the container is killed after %v, and draining may take %v and %v; requests are sent for %d s", wait, config.Ops.Drain, beyondDrain, c.Lifecycle.PreStop.Sleep.Seconds)
	}
	if cmd, rest, err := program.New().Find(c.Args); err != nil || cmd.Name() != "serve" || cmd.ParseFlags(rest) != nil {
		t.Errorf("%v cannot be run: %v", c.Args, err)
	}
	labels := all["Deployment"].Spec.Template.Metadata.Labels
	for kind, selects := range map[string]map[string]string{"Deployment": all["Deployment"].Spec.Selector.Labels, "PodDisruptionBudget": all["PodDisruptionBudget"].Spec.Selector.Labels} {
		if len(selects) == 0 || !maps.Equal(selects, labels) {
			t.Errorf("the %s selects %v of %v", kind, selects, labels)
		}
	}
	if selects := all["Service"].Spec.Selector.Name; selects != labels["app.kubernetes.io/name"] || selects == "" {
		t.Errorf("the Service selects %q of %v", selects, labels)
	}
	if scraped := all["Deployment"].Spec.Template.Metadata.Annotations["prometheus.io/port"]; scraped != strconv.Itoa(ports["ops"]) {
		t.Errorf("port %s is scraped of %v", scraped, ports)
	}
	if !pod.Security.RunAsNonRoot || c.Security.Escalation == nil || *c.Security.Escalation || !c.Security.ReadOnly {
		t.Error("the container may do more than it needs")
	}
	if pod.Volumes[0].ConfigMap.Name != all["ConfigMap"].Metadata.Name || c.Mounts[0].Name != pod.Volumes[0].Name || filepath.Dir(name) != "/etc/toolpost" {
		t.Errorf("the configuration is not where %s is", name)
	}
}

// TestExampleSecretIsRead checks that the Deployment reads the example Secret, that the gateway finds its keys through it,
// and that all manifests are plain YAML.
func TestExampleSecretIsRead(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(deployDir, "kubernetes", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = yamlcheck.Check(text)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	var secret struct {
		Kind     string
		Metadata struct{ Name string }
		Data     map[string]string `yaml:"stringData"`
	}
	text, err := os.ReadFile(filepath.Join(deployDir, "kubernetes", "examples", "secret.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &secret)
	}
	deployment, _ := os.ReadFile(filepath.Join(deployDir, "kubernetes", "deployment.yaml"))
	if err != nil || secret.Kind != "Secret" || !strings.Contains(string(deployment), "secretRef: {name: "+secret.Metadata.Name+"}") {
		t.Errorf("%v %+v", err, secret)
	}
	if !settings.IsPostgres(secret.Data[keys.StoreEnv]) || secret.Data["ANTHROPIC_API_KEY"] == "" {
		t.Errorf("%+v", secret.Data)
	}
}

// TestSystemdUnitIsValid checks the unit with systemd, if it is installed.
func TestSystemdUnitIsValid(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not here")
	}
	text, err := os.ReadFile(filepath.Join(deployDir, "systemd", "toolpost.service"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "toolpost.service")
	programtest.WriteFile(t, file, strings.Replace(string(text), "/usr/local/bin/toolpost", "/bin/true", 1)) // the program need not be installed
	out, _ := exec.Command(analyze, "verify", file).CombinedOutput()                                         // this also fails if systemd is not running
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "toolpost.service:") && !strings.Contains(line, "not found") {
			t.Error(line)
		}
	}
}

// TestContainerAndUnit checks the Dockerfile, the systemd unit and their configurations.
func TestContainerAndUnit(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(deployDir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	container := configured(t, filepath.Join(deployDir, "container", "gateway.yaml"))
	docker := read("container/Dockerfile")
	for _, want := range []string{"CGO_ENABLED=0", "FROM scratch", "\nUSER 65532:65532\n", "ca-certificates.crt", "STOPSIGNAL SIGTERM",
		"EXPOSE " + strconv.Itoa(port(container.Addr)) + " " + strconv.Itoa(port(container.Ops.OpsAddr)), "COPY deploy/container/gateway.yaml /etc/toolpost/gateway.yaml"} {
		if !strings.Contains(docker, want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
	config := configured(t, filepath.Join(deployDir, "systemd", "gateway.yaml"))
	values := map[string]string{}
	for line := range strings.Lines(read("systemd/toolpost.service")) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			values[key] = value
		}
	}
	stop, err := strconv.Atoi(values["TimeoutStopSec"])
	if err != nil || time.Duration(stop)*time.Second < config.Ops.Drain+beyondDrain {
		t.Errorf("systemd kills after %v s, and draining may take %v", stop, config.Ops.Drain)
	}
	if values["ExecReload"] != "/bin/kill -HUP $MAINPID" || values["DynamicUser"] != "yes" || values["NoNewPrivileges"] != "yes" {
		t.Errorf("%v", values)
	}
	args := strings.Fields(values["ExecStart"])
	cmd, _, err := program.New().Find(args[1:])
	if err != nil || cmd.Name() != "serve" || cmd.ParseFlags(args[2:]) != nil {
		t.Errorf("%v cannot be run: %v", args, err)
	}
}
