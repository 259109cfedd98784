package main

// The files under deploy/ are right as far as can be seen without Docker, Helm and a
// registry: they can be read, and tell the server nothing that it does not know.

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

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

// The chart, rendered as Helm would, is YAML, and what it tells the server is right.
func TestChart(t *testing.T) {
	text, err := os.ReadFile("../../deploy/helm/sluice/templates/sluice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) (into map[string]any) {
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal(text, &into)
		}
		if err != nil {
			t.Fatal(path, err)
		}
		return into
	}
	values, chart := read("../../deploy/helm/sluice/values.yaml"), read("../../deploy/helm/sluice/Chart.yaml")
	values["config"] = map[string]any{"plans": map[string]any{"pro": map[string]any{"limits": map[string]any{
		"rpm": map[string]any{"algorithm": "gcra", "limit": 600, "window": "1m"}}}}}
	chart["AppVersion"] = chart["appVersion"]
	page := template.Must(template.New("sluice").Option("missingkey=error").Funcs(template.FuncMap{
		"toYaml": func(v any) (string, error) { b, err := yaml.Marshal(v); return string(b), err },
		"toJson": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"quote":  strconv.Quote,
		"sha256sum": func(text string) string {
			return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		},
		"default": func(standard, v any) any {
			if v == "" {
				return standard
			}
			return v
		},
	}).Parse(string(text)))
	for _, class := range []string{"", "fast"} {
		values["persistence"].(map[string]any)["storageClass"] = class
		var out strings.Builder
		if err := page.Execute(&out, map[string]any{"Values": values, "Chart": chart, "Release": map[string]any{"Name": "limiter"}}); err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, part := range strings.Split(out.String(), "\n---\n") {
			var object struct {
				Kind string
				Data map[string]string
			}
			if err := yaml.Unmarshal([]byte(part), &object); err != nil {
				t.Fatalf("%v\n%s", err, part)
			}
			kinds = append(kinds, object.Kind)
			if config, ok := object.Data["sluice.yaml"]; ok {
				path := inFile(t, "sluice.yaml", config)
				if out, err, status := run(t, "check", path); status != 0 || !strings.Contains(out, "1 plans") {
					t.Errorf("exit %d, %s%s", status, out, err)
				}
			}
		}
		if want := []string{"ConfigMap", "Service", "StatefulSet"}; !slices.Equal(kinds, want) {
			t.Errorf("it has %v, want %v", kinds, want)
		}
		if strings.Contains(out.String(), "storageClassName") != (class != "") {
			t.Errorf("with the class %q:\n%s", class, &out)
		}
	}
}
