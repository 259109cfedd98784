//go:build !darwin

package settings

import (
	"testing"
	"testing/fstest"
)

// The share of max-memory is one of what the process may take: the least of the
// machine and of every cgroup around it.
func TestMemoryThere(t *testing.T) {
	const machine = 8 << 30
	for name, row := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"no cgroup":            {"", nil, machine},
		"no bound":             {"0::/a.slice/b.service", map[string]string{"a.slice/b.service/memory.max": "max"}, machine},
		"a container's own":    {"0::/", map[string]string{"memory.max": "1073741824"}, 1 << 30},
		"a unit's MemoryMax":   {"0::/a.slice/b.service", map[string]string{"a.slice/b.service/memory.max": "1073741824"}, 1 << 30},
		"a slice around it":    {"0::/a.slice/b.service", map[string]string{"a.slice/memory.max": "1048576000", "a.slice/b.service/memory.max": "1073741824"}, 1048576000},
		"another unit's":       {"0::/a.slice/b.service", map[string]string{"a.slice/c.service/memory.max": "1048576000"}, machine},
		"more than there is":   {"0::/", map[string]string{"memory.max": "99999999999999"}, machine},
		"version 1":            {"4:cpu:/x\n9:blkio,memory:/a/b", map[string]string{"memory/a/b/memory.limit_in_bytes": "1073741824"}, 1 << 30},
		"version 1, container": {"9:memory:/docker/4711", map[string]string{"memory/memory.limit_in_bytes": "1073741824"}, 1 << 30},
	} {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:        8388608 kB\nMemFree: 1 kB\n")}}
		if row.groups != "" {
			root["proc/self/cgroup"] = &fstest.MapFile{Data: []byte(row.groups + "\n")}
		}
		for file, text := range row.files {
			root["sys/fs/cgroup/"+file] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		if got, err := memoryThere(root); err != nil || got != row.want {
			t.Errorf("%s: %d, %v, want %d", name, got, err, row.want)
		}
	}
	if _, err := memoryThere(fstest.MapFS{}); err == nil {
		t.Error("without /proc/meminfo there is no error")
	}
}
