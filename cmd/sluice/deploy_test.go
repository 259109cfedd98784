package main

// The files under deploy/ are right as far as can be seen without Docker and a cluster:
// they can be read, tell the server nothing that it does not know, and Helm renders the
// chart as it is meant.

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"sluice/internal/settings"
)

func TestDeployFiles(t *testing.T) {
	known := map[string]bool{passwordEnv: true}
	for i := range settings.Rows {
		known[settings.Rows[i].Env()] = true
	}
	// Names that are there to say that they are not meant.
	known["SLUICE_PORT"] = true
	seen := 0
	check := func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range regexp.MustCompile(`SLUICE_[A-Z_]+`).FindAllString(string(text), -1) {
			if !known[strings.TrimSuffix(name, "_")] {
				t.Errorf("%s sets %s, which is no setting", path, name)
			}
			seen++
		}
		isYAML := strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")
		if isYAML && !strings.Contains(path, "templates") {
			var any any
			if err := yaml.Unmarshal(text, &any); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	}
	if err := filepath.WalkDir("../../deploy", check); err != nil {
		t.Fatal(err)
	}
	if err := check("../../.goreleaser.yaml", nil, nil); err != nil {
		t.Fatal(err)
	}
	if seen < 10 {
		t.Errorf("only %d variables were seen", seen)
	}
}

// The file that the page on installing shows is right, and paths that it names exist.
func TestInstallPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	shown, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no file is shown")
	}
	path := inFile(t, "sluice.yaml", strings.ReplaceAll(shown, "\n   ", "\n")[3:])
	if out, err, status := run(t, "check", path); status != 0 || !strings.Contains(out, "1 plans, 0 rules, 1 settings") {
		t.Errorf("exit %d, %s%s", status, out, err)
	}
	for _, name := range regexp.MustCompile(`\bdeploy/[a-z./-]+[a-z]`).FindAllString(string(page), -1) {
		if _, err := os.Stat("../../" + name); err != nil {
			t.Error(err)
		}
	}
	p := start(t, "--config", path, "--dir", "", "--admin", "127.0.0.1:0")
	if got := p.dial().ask("RL.ALLOW user:42 @pro"); !strings.HasPrefix(got, "[1 600 599 0 ") {
		t.Errorf("RL.ALLOW user:42 @pro: %s", got)
	}
	p.terminate()
}

// What nfpm and goreleaser put into packages is the same, and it is there; what build/
// holds, `make package` makes.
func TestPackagesAgree(t *testing.T) {
	type content struct{ Src, Dst, Type string }
	type packaging struct {
		Contents []content
		Scripts  map[string]string
	}
	var nfpm packaging
	var releaser struct{ NFPMs []packaging }
	for path, into := range map[string]any{"../../deploy/nfpm.yaml": &nfpm, "../../.goreleaser.yaml": &releaser} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(path, err)
		}
	}
	// goreleaser adds the binary itself.
	if len(nfpm.Contents) < 5 || nfpm.Contents[0] != (content{Src: "bin/sluice", Dst: "/usr/bin/sluice"}) {
		t.Fatalf("nfpm's first of %d is %+v", len(nfpm.Contents), nfpm.Contents[0])
	}
	nfpm.Contents = nfpm.Contents[1:]
	if len(releaser.NFPMs) != 1 || !reflect.DeepEqual(releaser.NFPMs[0], nfpm) {
		t.Errorf("goreleaser packs %+v, nfpm %+v", releaser.NFPMs, nfpm)
	}
	for _, c := range nfpm.Contents {
		if _, err := os.Stat("../../" + c.Src); err != nil && !strings.HasPrefix(c.Src, "build/") {
			t.Error(err)
		}
	}
	for _, script := range nfpm.Scripts {
		if out, err := exec.Command("sh", "-n", "../../"+script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

var helm = flag.String("helm", "", "`program` that renders the chart")

// The chart, rendered by Helm: what its objects name is there, the file that it gives the
// server is right, and values that it does not know are refused. `make chart` runs it.
func TestChart(t *testing.T) {
	if *helm == "" {
		t.Skip("no Helm; make chart builds one")
	}
	const chart, everything = "../../deploy/helm/sluice", "testdata/chart.yaml"
	run := func(command string, args ...string) (string, error) {
		out, err := exec.Command(*helm, append(strings.Fields(command), args...)...).CombinedOutput()
		return string(out), err
	}
	for _, row := range []struct {
		values  []string
		plans   string
		mention []string
	}{
		{nil, "0 plans", []string{"image: \"sluice:0.1.0\"\n"}},
		{[]string{"--values", everything}, "1 plans, 0 rules, 2 settings", []string{"image: \"registry.example/limits/sluice:1.2\"\n", "imagePullPolicy: Always\n", `{name: "first"}`, `{name: "second"}`,
			`"token-of-admins"`, `"password-of-callers"`, `storage: "20Gi"`, `storageClassName: "fast"`, `"cpu":"500m"`, `{"disk":"ssd"}`, `"effect":"NoSchedule"`, `"key":"disk"`, `value: "60s"`}},
	} {
		if out, err := run("lint --strict "+chart, row.values...); err != nil {
			t.Errorf("%v: %v\n%s", row.values, err, out)
		}
		out, err := run("template limiter "+chart, row.values...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", row.values, err, out)
		}
		for _, text := range row.mention {
			if !strings.Contains(out, text) {
				t.Errorf("it has no %s:\n%s", text, out)
			}
		}
		checkChart(t, out, row.plans)
	}
	for _, value := range []string{"persistance.size=1Gi", "drain=2m", "image.pullPolicy=Sometimes", "config=3", "persistence.size=big", "passwordSecret="} {
		name, _, _ := strings.Cut(value, "=")
		last := name[strings.LastIndex(name, ".")+1:]
		if out, err := run("template limiter "+chart, "--set", value); err == nil || !strings.Contains(out, last) && !strings.Contains(out, "persistance") {
			t.Errorf("%s: %v\n%s", value, err, out)
		}
	}
}

// checkChart looks into what has been rendered. The fields are those that name others.
func checkChart(t *testing.T, rendered, plans string) {
	t.Helper()
	type labels map[string]string
	type named struct {
		Name, Value string
		MountPath   string `yaml:"mountPath"`
	}
	type object struct {
		Kind     string
		Metadata named
		Data     map[string]string
		Spec     struct {
			ServiceName string `yaml:"serviceName"`
			Selector    map[string]any
			Template    struct {
				Metadata struct{ Labels labels }
				Spec     struct {
					Volumes    []named
					Containers []struct {
						Env    []named
						Mounts []named `yaml:"volumeMounts"`
					}
				}
			}
			Claims []struct{ Metadata named } `yaml:"volumeClaimTemplates"`
		}
	}
	objects := map[string]object{}
	for part := range strings.SplitSeq(rendered, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Fatalf("%v\n%s", err, part)
		}
		objects[o.Kind] = o
	}
	service, set, file := objects["Service"], objects["StatefulSet"], objects["ConfigMap"]
	if len(objects) != 3 || len(set.Spec.Template.Spec.Containers) != 1 || len(set.Spec.Template.Spec.Containers[0].Env) == 0 {
		t.Fatalf("it has %v", objects)
	}
	path := inFile(t, "sluice.yaml", file.Data["sluice.yaml"])
	if out, err, status := run(t, "check", path); status != 0 || !strings.Contains(out, plans) {
		t.Errorf("exit %d, %s%s", status, out, err)
	}
	pod, container := set.Spec.Template, set.Spec.Template.Spec.Containers[0]
	for _, selector := range []any{service.Spec.Selector, set.Spec.Selector["matchLabels"]} {
		if fmt.Sprint(selector) != fmt.Sprint(pod.Metadata.Labels) || len(pod.Metadata.Labels) == 0 {
			t.Errorf("%v is selected, and pods are %v", selector, pod.Metadata.Labels)
		}
	}
	if set.Spec.ServiceName != service.Metadata.Name {
		t.Errorf("the set is served by %q, the service is %q", set.Spec.ServiceName, service.Metadata.Name)
	}
	volumes := pod.Spec.Volumes
	for _, claim := range set.Spec.Claims {
		volumes = append(volumes, claim.Metadata)
	}
	for _, mount := range container.Mounts {
		if !slices.ContainsFunc(volumes, func(v named) bool { return v.Name == mount.Name }) {
			t.Errorf("%s is mounted, and is no volume", mount.Name)
		}
	}
	for _, variable := range container.Env {
		under := func(m named) bool {
			return variable.Value == m.MountPath || strings.HasPrefix(variable.Value, m.MountPath+"/")
		}
		if strings.HasPrefix(variable.Value, "/") && !slices.ContainsFunc(container.Mounts, under) {
			t.Errorf("%s is %s, where nothing is mounted", variable.Name, variable.Value)
		}
	}
}
