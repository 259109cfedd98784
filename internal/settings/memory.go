package settings

// How much memory there is: the machine's, or less where a cgroup says so.

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// memory takes a size, or a share of what there is.
func memory(at func(*Config) *int64) field {
	return func(c *Config, text string) (err error) {
		*at(c), err = parseMemory(text)
		return err
	}
}

func parseMemory(text string) (int64, error) {
	wrong := fmt.Errorf("must be a size such as 2GiB, at least %s, or a share such as 75%%, got %q",
		humanize.IBytes(MemoryMinBytes), text)
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.Atoi(share)
		if err != nil || percent < 1 || percent > 100 {
			return 0, wrong
		}
		there, err := memoryThere(os.DirFS("/"))
		if err != nil {
			return 0, fmt.Errorf("is a share (%s), and how much memory there is cannot be found out (%w); give a size such as 2GiB", text, err)
		}
		return max(there/100*int64(percent), MemoryMinBytes), nil
	}
	n, err := parseSize(text)
	if err != nil || n < MemoryMinBytes {
		return 0, wrong
	}
	return n, nil
}

// memoryThere is the memory of the machine, or the least that one of the cgroups
// which the process is in may take: that of a systemd unit with MemoryMax, that of a
// container. root is the root of the file system.
func memoryThere(root fs.FS) (int64, error) {
	total, err := machineMemory(root)
	if err != nil {
		return 0, err
	}
	for _, file := range cgroupBounds(root) {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	return total, nil
}

// cgroupBounds lists the files that may bound the memory of the process: of its own
// cgroup and of those that it is in, up to the outermost that can be seen.
func cgroupBounds(root fs.FS) (files []string) {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // without it there is the outermost
	for line := range strings.Lines("0::/\n1:memory:/\n" + string(groups)) {
		of := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(of) < 3 {
			continue
		}
		under, file := "sys/fs/cgroup", "memory.max"
		if slices.Contains(strings.Split(of[1], ","), "memory") {
			under, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for at := path.Clean("/" + of[2]); ; at = path.Dir(at) {
			files = append(files, path.Join(under, at, file))
			if at == "/" {
				break
			}
		}
	}
	return files
}
