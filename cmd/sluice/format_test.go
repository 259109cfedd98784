package main

// Directories that earlier servers have written, one for each format of records that there
// was: whoever upgrades finds what was there.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testdata/format-N is a directory with a snapshot and a journal behind it, left by kill
// -9, in which every kind of record is; format-N.txt is what was asked of the server that
// wrote it after a restart, a command and its reply by turns. They are never written anew:
// a format that changes has a directory of its own.
func TestEarlierFormats(t *testing.T) {
	dirs, err := filepath.Glob("testdata/format-?")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, written := range dirs {
		text, err := os.ReadFile(written + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(written)); err != nil {
			t.Fatal(err)
		}
		flags := []string{"--test-clock", "--dir", dir, "--journal", "always"}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		looks := 0 // commands that change nothing are asked of what this server has written, too
		for ; !strings.HasPrefix(lines[looks], "RL.COMMIT"); looks += 2 {
		}
		for _, from := range [][]string{lines[:looks], lines[:looks], lines} {
			p := start(t, flags...)
			c := p.dial()
			for i := 0; i < len(from); i += 2 {
				c.want(from[i], from[i+1])
			}
			if len(from) == looks {
				c.want("SAVE", "+OK")
			}
			p.kill()
		}
	}
}
