package main

// The files under deploy/ are right as far as can be seen without Docker, Helm and a
// registry: they can be read, and tell the server nothing that it does not know.

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
