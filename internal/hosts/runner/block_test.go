package runner

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestBlocks: a block is found where it is marked once and wholly, and what is not is said and not touched.
func TestBlocks(t *testing.T) {
	const begin, end = "# BEGIN IASQL MANAGED BLOCK a\n", "# END IASQL MANAGED BLOCK a\n"
	for _, c := range []struct{ what, text, whole, broken string }{
		{"none", "x\n", "", ""},
		{"one", "x\n" + begin + "1\n2\n" + end + "y", "a=1\n2\n", ""},
		{"empty", begin + end, "a=", ""},
		{"lines of DOS", "# BEGIN IASQL MANAGED BLOCK a\r\n1\r\n# END IASQL MANAGED BLOCK a\r\n", "a=1\r\n", ""},
		{"no end of the last line", begin + "1\n" + strings.TrimSuffix(end, "\n"), "a=1\n", ""},
		{"other comments",
			"<!-- BEGIN IASQL MANAGED BLOCK b -->\n1\n<!-- END IASQL MANAGED BLOCK b -->\n" + begin + end,
			"a=,b=1\n", ""},
		{"too long", begin + strings.Repeat("x\n", maxSystem/2+1) + end, "", "a is longer than 32 KiB"},
		{"no comment", "x BEGIN IASQL MANAGED BLOCK a\n", "", ""},
		{"another's", "# BEGIN ANSIBLE MANAGED BLOCK\n1\n# END ANSIBLE MANAGED BLOCK\n", "", ""},
		{"no end", begin + "1\n", "", "a has no end"},
		{"no beginning", "1\n" + end, "", "a ends without a beginning"},
		{"twice", begin + end + begin + end, "", "a"},
		{"one in another", begin + strings.ReplaceAll(begin+end, " a", " b") + end, "", "a,b"},
		{"crossed", begin + strings.ReplaceAll(end, " a", " b") + end, "a=" + strings.ReplaceAll(end, " a", " b"),
			"b ends without"},
	} {
		whole, broken := blocksOf("/f", c.text)
		var found []string
		for _, name := range slices.Sorted(maps.Keys(whole)) {
			found = append(found, name+"="+*whole[name].block.Content)
		}
		if got := strings.Join(found, ","); got != c.whole {
			t.Errorf("%s: found %q", c.what, got)
		}
		wrong := strings.Split(c.broken, ",")
		if c.broken == "" {
			wrong = nil
		}
		for _, w := range wrong {
			name, why, _ := strings.Cut(w, " ")
			if err := broken[name]; err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %s: %v", c.what, w, err)
			}
		}
		if len(broken) != len(wrong) {
			t.Errorf("%s: broken are %v", c.what, broken)
		}
	}
}

// FuzzBlocks: whatever a text is, a block is written into it and is there, is changed and goes, and each byte outside
// of it stays.
func FuzzBlocks(f *testing.F) {
	f.Add("", "x")
	f.Add("a\r\nb", "x\ny\n")
	f.Add("# BEGIN IASQL MANAGED BLOCK b\n1\n# END IASQL MANAGED BLOCK b\n", "")
	f.Fuzz(func(t *testing.T, text, content string) {
		whole, broken := blocksOf("/f", text)
		if len(broken) > 0 || whole["new"] != nil {
			t.Skip()
		}
		comment := "#"
		with, err := withBlock(text, nil, &Block{Path: "/f", Name: "new", Comment: &comment, Content: &content})
		if err != nil {
			t.Skip() // a line of the content marks a block
		}
		now, broken := blocksOf("/f", with)
		if len(broken) > 0 || now["new"] == nil || *now["new"].block.Content != lined(content) ||
			len(now) != len(whole)+1 {
			t.Fatalf("%q is %q: %v", text, with, broken)
		}
		other := "other"
		changed, err := withBlock(with, now["new"], &Block{Path: "/f", Name: "new", Content: &other})
		if err != nil {
			t.Fatal(err)
		}
		now, _ = blocksOf("/f", changed)
		if gone, err := withBlock(changed, now["new"], nil); err != nil || gone != lined(text) {
			t.Fatalf("%q has become %q: %v", text, gone, err)
		}
	})
}
