package main

// Directories that are not as they were left: torn, damaged, of a newer version, not
// ours, or written under another clock; and what the two commands for them do. C109, G9.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// written is a directory in which a server has kept some keys, and was killed.
func written(t testing.TB, flags ...string) (dir string) {
	dir = t.TempDir()
	p := start(t, append([]string{"--dir", dir, "--journal", "always"}, flags...)...)
	c := p.dial()
	for i := range 100 {
		c.ask(fmt.Sprintf("RL.ALLOW k%d fixed_window 1000 100000h 1", i))
	}
	p.kill()
	return dir
}

const journalOne = "journal-0000000001"

// change changes a file and returns its path.
func change(t testing.TB, dir, name string, f func([]byte) []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// refused starts a server that must end with 1 and one line, and change nothing.
func refused(t testing.TB, dir string, flags ...string) string {
	t.Helper()
	before := files(t, dir)
	delete(before, "sluice.lock") // says who looked last
	_, text, status := run(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--dir", dir}, flags...)...)
	if status != 1 || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "sluice: ") {
		t.Errorf("exit %d, %q", status, text)
	}
	after := files(t, dir)
	delete(after, "sluice.lock")
	if !maps.Equal(before, after) {
		t.Error("the files have changed")
	}
	return text
}

// A torn tail is cut with one line in the log.
func TestTornTail(t *testing.T) {
	dir := written(t)
	var size int
	change(t, dir, journalOne, func(b []byte) []byte { size = len(b); return b[:len(b)-5] })
	p := start(t, "--dir", dir)
	p.told("msg=ready")
	lines := p.logs("level=WARN")
	if len(lines) != 1 || !strings.Contains(lines[0], "a torn tail of the journal was cut") || !strings.Contains(lines[0], "file="+journalOne) {
		t.Errorf("the log says %q", lines)
	}
	documented(t, dir, lines[0][strings.Index(lines[0], "level="):])
	c := p.dial()
	c.want("DBSIZE", "99")
	c.ask("RL.ALLOW k99 fixed_window 1000 100000h 1")
	p.terminate()
	if now := files(t, dir)[journalOne]; len(now) != size-5 {
		t.Errorf("the torn file had %d bytes, now %d: nothing is cut off on disk", size-5, len(now))
	}
	p = start(t, "--dir", dir)
	p.dial().want("DBSIZE", "100")
	p.told("msg=ready")
	if lines := p.logs("level=WARN"); len(lines) > 0 {
		t.Errorf("the second start says %q", lines)
	}
	p.terminate()
}

// Damage where no crash can have torn anything: the server does not start and says what
// can be done; what it names does it, and keeps the damaged file.
func TestDamage(t *testing.T) {
	dir := written(t)
	path := change(t, dir, journalOne, func(b []byte) []byte { b[bytes.Index(b, []byte("k50"))] ^= 1; return b })
	text := refused(t, dir)
	for _, want := range []string{"sluice: read " + path + ": damaged at byte ", "nothing was changed", "sluice data check " + dir + "`", "sluice data repair " + dir + "`"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	documented(t, dir, text)
	before := files(t, dir)
	report, errs, status := run(t, "data", "check", dir)
	if status != 1 || !strings.Contains(report, journalOne) || !strings.Contains(report, "problem:") ||
		errs != "sluice: a server would not start from this directory; `sluice data repair "+dir+"` mends it\n" {
		t.Errorf("check: exit %d, %q, %q", status, errs, report)
	}
	if !maps.Equal(before, files(t, dir)) {
		t.Error("check has changed something")
	}
	report, errs, status = run(t, "data", "repair", dir)
	if status != 0 || errs != "" || !strings.Contains(report, "kept: "+journalOne+".damaged-1") {
		t.Errorf("repair: exit %d, %q, %q", status, errs, report)
	}
	if files(t, dir)[journalOne+".damaged-1"] != before[journalOne] {
		t.Error("the damaged file is not kept")
	}
	if report, errs, status = run(t, "data", "repair", dir); status != 0 || errs != "" || !strings.HasSuffix(report, "\n  nothing to mend\n") {
		t.Errorf("a second repair: exit %d, %q, %q", status, errs, report)
	}
	p := start(t, "--dir", dir)
	if n := p.dial().ask("DBSIZE"); n != "99" {
		t.Errorf("%s keys of 100 after one frame was damaged", n)
	}
	p.terminate()
}

// A directory that a server holds can be looked at and not repaired.
func TestDataOfARunningServer(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "--dir", dir)
	if report, errs, status := run(t, "data", "check", dir); status != 0 || errs != "" || !strings.HasPrefix(report, dir+": 0 records") {
		t.Errorf("check: exit %d, %q, %q", status, errs, report)
	}
	_, errs, status := run(t, "data", "repair", dir)
	if status != 1 || !strings.Contains(errs, fmt.Sprintf("held by pid %d", p.command.Process.Pid)) || strings.Count(errs, "\n") != 1 {
		t.Errorf("repair: exit %d, %q", status, errs)
	}
	p.terminate()
	for _, command := range []string{"check", "repair"} {
		if _, errs, status := run(t, "data", command, filepath.Join(dir, "nosuch")); status != 1 || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", command, status, errs)
		}
	}
}

// A missing generation is damage too.
func TestMissingGeneration(t *testing.T) {
	dir := written(t)
	p := start(t, "--dir", dir, "--journal", "always")
	p.dial().ask("RL.ALLOW k fixed_window 1000 100000h 1")
	p.terminate()
	if err := os.Remove(filepath.Join(dir, journalOne)); err != nil {
		t.Fatal(err)
	}
	text := refused(t, dir)
	if !strings.Contains(text, "missing") || !strings.Contains(text, "sluice data repair "+dir) {
		t.Error(text)
	}
	documented(t, dir, text)
}

// Files of a newer version, and files that are not ours, are never touched.
func TestNewerAndForeignFiles(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   string
		advice string // what to do, told by a start and by data check
	}{
		{"a newer journal", func(t *testing.T, dir string) {
			change(t, dir, journalOne, func(b []byte) []byte {
				binary.LittleEndian.PutUint64(b[8:], 1<<32|99) // whatever else a newer version has there
				return b
			})
		}, "written in format 99 by a newer version", "start the version that wrote it"},
		{"a journal of somebody else", func(t *testing.T, dir string) {
			change(t, dir, journalOne, func([]byte) []byte { return []byte(strings.Repeat("dear diary, ", 100)) })
		}, journalOne, "move " + journalOne + " out of "},
		{"a snapshot of somebody else", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "snapshot-0000000001"), "REDIS0011"+strings.Repeat("x", 100))
		}, "snapshot-0000000001", "move snapshot-0000000001 out of "},
		{"a lock of somebody else", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "sluice.lock"), "my shopping list")
		}, "sluice.lock", "move sluice.lock out of "},
		{"a directory in the place of a file", func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "journal-0000000002"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "keep"), "x")
		}, "journal-0000000002", "move journal-0000000002 out of "},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := written(t)
			row.change(t, dir)
			var before, after []string
			list(t, dir, &before)
			_, text, status := run(t, "serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--dir", dir)
			if status != 1 || strings.Count(text, "\n") != 1 || !strings.Contains(text, row.want) || !strings.Contains(text, "; nothing was changed: "+row.advice) {
				t.Errorf("exit %d, %q", status, text)
			}
			if _, errs, status := run(t, "data", "check", dir); !strings.Contains(row.want, "lock") && (status != 1 || !strings.Contains(errs, "; "+row.advice)) {
				t.Errorf("check: exit %d, %q", status, errs)
			}
			if strings.HasSuffix(row.name, " journal") || row.name == "a journal of somebody else" {
				documented(t, dir, text)
			}
			if _, errs, status := run(t, "data", "repair", dir); status != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "; nothing was changed: "+row.advice) {
				t.Errorf("repair: exit %d, %q", status, errs)
			}
			if list(t, dir, &after); strings.Join(before, "\n") != strings.Join(after, "\n") {
				t.Errorf("was\n%s\nis\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
		})
	}
}

// What only some users and some disks meet is told with what to do, too; what nothing is
// known of stays as it is.
func TestAdvice(t *testing.T) {
	const dir = "/state"
	at := func(err error) error { return &fs.PathError{Op: "open", Path: dir + "/sluice.lock", Err: err} }
	for _, row := range []struct {
		err  error
		want string
	}{
		{at(syscall.EACCES), fmt.Sprintf("open /state/sluice.lock: permission denied; /state and what is in it must belong to the user that runs this, uid %d", os.Getuid())},
		{at(syscall.ENOSPC), "open /state/sluice.lock: no space left on device; make room, or choose another directory with --dir"},
		{at(syscall.EIO), "open /state/sluice.lock: input/output error"},
	} {
		if got := advised(row.err, dir); got.Error() != row.want || !errors.Is(got, row.err) {
			t.Errorf("got %q\nwant %q", got, row.want)
		}
	}
	documented(t, dir, advised(&fs.PathError{Op: "open", Path: dir + "/journal-0000000001", Err: syscall.EACCES}, dir).Error())
	if advised(nil, dir) != nil {
		t.Error("no error is advised")
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// list names what is in a directory with its contents, but for a lock of ours.
func list(t testing.TB, dir string, names *[]string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			*names = append(*names, path)
			return err
		}
		text, err := os.ReadFile(path)
		if !strings.HasPrefix(string(text), "sluice pid") {
			*names = append(*names, path+" "+string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What stands beside our files is let be.
func TestOtherFilesAreLetBe(t *testing.T) {
	dir := written(t)
	others := map[string]string{
		"notes.txt": "mine", "journal-1": "not a name of ours", "snapshot-0000000001.bak": "a copy", "journal-0000000001.damaged-1": "old",
	}
	for name, text := range others {
		write(t, filepath.Join(dir, name), text)
	}
	p := start(t, "--dir", dir)
	p.dial().want("SAVE", "+OK")
	p.terminate()
	left := files(t, dir)
	for name, text := range others {
		if left[name] != text {
			t.Errorf("%s holds %q", name, left[name])
		}
	}
}

// A clock far behind what is on disk: no start without a word from the operator.
func TestClockBehind(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "--dir", dir, "--test-clock")
	c := p.dial()
	c.want("RL.CLOCK SET 4102444800000", "+OK") // 2100
	c.ask("RL.ALLOW k token_bucket 10 100h 10")
	p.terminate()
	text := refused(t, dir)
	for _, want := range []string{"the wall clock reads ", "behind the last recorded time 2100-01-01T00:00:0", "start with --allow-clock-behind"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	documented(t, dir, text)
	p = start(t, "--dir", dir, "--allow-clock-behind")
	c = p.dial()
	if now := c.ask("RL.CLOCK GET"); !strings.HasPrefix(now, "41024448") {
		t.Errorf("server time is %s", now)
	}
	if got := c.ask("RL.PEEK k token_bucket 10 100h 1"); !strings.HasPrefix(got, "[0 10 0 ") {
		t.Errorf("the key is %s", got)
	}
	p.terminate()
}

// big is a directory that takes a while to load.
func big(t testing.TB) (dir string, keys int) {
	dir, keys = t.TempDir(), 400_000
	p := start(t, "--dir", dir, "--journal", "off")
	c := p.dial()
	go func() {
		var batch []byte
		for i := range keys {
			batch = request(batch, "RL.ALLOW", fmt.Sprintf("key:%016d", i), "fixed_window", "1000", "100000h")
			if len(batch) > 1<<16 || i == keys-1 {
				c.conn.Write(batch)
				batch = batch[:0]
			}
		}
	}()
	for range keys {
		if reply, err := c.reply(); err != nil || reply[0] != '[' {
			t.Fatal(reply, err)
		}
	}
	p.terminate()
	return dir, keys
}

// inTime tries something until it comes while a server loads. Where a machine is busy, the
// server may have loaded before.
func inTime(t *testing.T, try func() bool) {
	t.Helper()
	for range 50 {
		if try() {
			return
		}
	}
	t.Fatal("no server loads for long enough")
}

// While data are loaded clients are told so, and how far it is; then all is there. A
// server that loads can be ended.
func TestLoadingTakesAWhile(t *testing.T) {
	dir, keys := big(t)
	var p *process
	var c *client
	inTime(t, func() bool {
		p = launch(t, "--dir", dir)
		c = p.dial()
		reply := c.ask("RL.PEEK k gcra 1 1s")
		c.want("PING", "+PONG")
		p.command.Process.Signal(syscall.SIGHUP) // waits until there is something to read again
		if c.info("loading") != "1" {
			p.kill()
			return false
		}
		if !strings.HasPrefix(reply, "-LOADING Sluice is loading its data, ") {
			t.Errorf("it says %s", reply)
		}
		documented(t, dir, reply)
		return true
	})
	p.until("it has loaded", func() bool { return c.info("loading") == "0" })
	p.ready()
	c.want("DBSIZE", fmt.Sprint(keys))
	p.until("it has read its configuration again", func() bool { return len(p.logs("configuration read again")) == 1 })
	if lines := p.told("msg=loaded"); len(lines) != 1 || !strings.Contains(lines[0], fmt.Sprint("records=", keys)) {
		t.Errorf("the log says %q", lines)
	}
	p.terminate()

	for name, end := range map[string]func(p *process){
		"SIGTERM":  func(p *process) { p.command.Process.Signal(syscall.SIGTERM) },
		"SHUTDOWN": func(p *process) { p.dial().conn.Write(request(nil, "SHUTDOWN")) },
	} {
		inTime(t, func() bool {
			before := files(t, dir)
			p := launch(t, "--dir", dir)
			end(p)
			if status := p.wait(); status != 0 {
				t.Errorf("%s while loading: exit %d", name, status)
			}
			if p.logs("ended while loading") == nil {
				return false
			}
			after := files(t, dir)
			delete(before, "sluice.lock")
			delete(after, "sluice.lock")
			if !maps.Equal(before, after) {
				t.Errorf("%s while loading changes files", name)
			}
			return true
		})
	}
}
