package main

// A disk that is full, with a real server: the system lets it write so much to a file
// and no more, and then more again.

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// limitFiles sets how long the files of a process may be.
func (p *process) limitFiles(bytes uint64) {
	p.t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.command.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		p.t.Skip("file sizes cannot be limited here: ", err)
	}
}

// Under always what spends is refused with the cause until there is room, and then all
// goes on; SHUTDOWN says that it cannot save (C112).
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	p := launchCommand(t, exec.Command(program, serveArgs([]string{"--dir", dir, "--journal", "always", "--test-clock"})...))
	p.ready()
	c := p.dial()
	c.want("RL.ALLOW full token_bucket 1 1h", "[1 1 0 0 3600000 0]")
	p.limitFiles(4096)
	acked, refusal := 1, ""
	for i := 0; refusal == "" && i < 1000; i++ {
		reply := c.ask(fmt.Sprintf("RL.ALLOW key:%d token_bucket 10 1h", i))
		if strings.HasPrefix(reply, "-") {
			refusal = reply
		} else {
			acked++
		}
	}
	const misconf = "-MISCONF the journal cannot be written, so nothing that spends is acknowledged until it can: "
	if !strings.HasPrefix(refusal, misconf) || !strings.Contains(refusal, dir+"/journal-0000000001: file too large") {
		t.Fatalf("after %d calls it says %q", acked, refusal)
	}
	documented(t, dir, strings.Replace(refusal, "file too large", "no space left on device", 1)[1:])
	// A new file has room for some more, so the limit must be lower than any.
	p.limitFiles(10)
	p.until("it refuses", func() bool { return strings.HasPrefix(c.ask("DEL nothing"), misconf) })
	c.want("RL.ALLOW full token_bucket 1 1h", "[0 1 0 3600000 3600000 0]")
	c.want("RL.PEEK full token_bucket 1 1h", "[0 1 0 3600000 3600000 0]")
	if reply := c.ask("RL.ALLOW other token_bucket 1 1h"); !strings.HasPrefix(reply, misconf) {
		t.Errorf("it says %s", reply)
	}
	if c.info("aof_last_write_status") != "err" || !strings.Contains(c.info("last_disk_error"), "file too large") {
		t.Errorf("INFO says %s, %s", c.info("aof_last_write_status"), c.info("last_disk_error"))
	}
	if reply := c.ask("SAVE"); !strings.Contains(reply, "file too large") {
		t.Errorf("SAVE says %s", reply)
	}
	if reply := c.ask("SHUTDOWN"); !strings.HasPrefix(reply, "-ERR not ended, because the snapshot failed") {
		t.Errorf("SHUTDOWN says %s", reply)
	}
	p.until("no file is empty", func() bool { // one that is being tried is removed again
		for _, text := range files(t, dir) {
			if text == "" {
				return false
			}
		}
		return true
	})
	told := p.told("the journal does not keep its promise")[0]
	documented(t, dir, strings.Replace(told[strings.Index(told, "level="):], "file too large", "no space left on device", 1))
	p.limitFiles(unix.RLIM_INFINITY)
	p.until("it goes on", func() bool { return c.ask("DEL nothing") == "0" })
	c.want("RL.ALLOW other token_bucket 10 1h", "[1 10 9 0 360000 0]")
	before := c.ask("DBSIZE")
	p.kill()
	p = start(t, "--dir", dir, "--test-clock")
	c = p.dial()
	c.want("DBSIZE", before)
	c.want("RL.PEEK full token_bucket 1 1h", "[0 1 0 3600000 3600000 0]")
	p.terminate()
}
