// The pages of docs/decisions: several people write them at once, so numbers collide and the table of contents falls
// behind, and nobody notices.

package tidy

import (
	"fmt"
	"regexp"
	"strings"
)

// decisionPage is what a page is called: four digits and a title.
var decisionPage = regexp.MustCompile(`^([0-9]{4})-[a-z0-9-]+\.md$`)

// decisions holds the names of the files in docs/decisions against the table of contents, which links to each.
func decisions(names []string, contents string) (complaints []string) {
	taken := map[string]string{}
	for _, name := range names {
		if name == "README.md" {
			continue
		}
		match := decisionPage.FindStringSubmatch(name)
		if match == nil {
			complaints = append(complaints, fmt.Sprintf("docs/decisions/%s: pages are called NNNN-title.md, in small letters", name))
			continue
		}
		if other := taken[match[1]]; other != "" {
			complaints = append(complaints, fmt.Sprintf("docs/decisions/%s: %s has that number", name, other))
		}
		taken[match[1]] = name
		if !strings.Contains(contents, "]("+name+")") {
			complaints = append(complaints, fmt.Sprintf("docs/decisions/README.md does not link to %s", name))
		}
	}
	return complaints
}
