package algorithms

// Time zones. The data are inside the binary (zoneinfo.zip, the IANA database as
// Go distributes it) and always used, whatever the machine has, so that a day
// begins at the same instant on every machine that runs the same version.
//
// A Limit names its zone by a number, which is good for this process only; what
// is written to disk is the name.

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"
)

//go:embed zoneinfo.zip
var zoneData []byte

// Zone is the number of a time zone in this process. 0 is UTC.
type Zone uint16

// zone is one zone of the database; its location is read when it is first used.
type zone struct {
	name     string
	file     *zip.File
	location atomic.Pointer[time.Location]
}

// zones lists the database by name, UTC first.
var zones = func() []*zone {
	list := []*zone{{name: "UTC"}}
	list[0].location.Store(time.UTC)
	archive, err := zip.NewReader(bytes.NewReader(zoneData), int64(len(zoneData)))
	if err != nil {
		panic("algorithms: the zone database in the binary cannot be read: " + err.Error())
	}
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "UTC" {
			list = append(list, &zone{name: f.Name, file: f})
		}
	}
	slices.SortFunc(list[1:], func(a, b *zone) int { return strings.Compare(a.name, b.name) })
	return list
}()

// ParseZone finds a zone by its IANA name, such as Europe/Paris.
func ParseZone(name string) (Zone, error) {
	i := 0
	if name != "UTC" {
		i = 1 + sort.Search(len(zones)-1, func(i int) bool { return zones[i+1].name >= name })
	}
	if i == len(zones) || zones[i].name != name {
		if near := Nearest(name, ZoneNames()); near != "" {
			return 0, fmt.Errorf("unknown time zone '%s', did you mean '%s'?", Show([]byte(name)), near)
		}
		return 0, fmt.Errorf("unknown time zone '%s': it must be an IANA name such as Europe/Paris", Show([]byte(name)))
	}
	if err := zones[i].load(); err != nil {
		return 0, err
	}
	return Zone(i), nil
}

// load reads the zone's rules, so that deciding never has to.
func (z *zone) load() error {
	if z.location.Load() != nil {
		return nil
	}
	f, err := z.file.Open()
	if err != nil {
		return fmt.Errorf("time zone %s: %w", z.name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("time zone %s: %w", z.name, err)
	}
	location, err := time.LoadLocationFromTZData(z.name, data)
	if err != nil {
		return fmt.Errorf("time zone %s: %w", z.name, err)
	}
	z.location.Store(location)
	return nil
}

// ZoneNames lists the zones there are.
func ZoneNames() []string {
	names := make([]string, len(zones))
	for i, z := range zones {
		names[i] = z.name
	}
	return names
}

// String is the zone's IANA name.
func (z Zone) String() string { return zones[z].name }

// location is the zone's rules. Only ParseZone makes zones, so they are loaded.
func (z Zone) location() *time.Location { return zones[z].location.Load() }
