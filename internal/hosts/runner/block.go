package runner

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// KindBlock is the kind of marked parts of files.
const KindBlock = "block"

// BlockName is what the names of blocks match.
const BlockName = `^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`

// Comments are what begins a comment in a file, and what ends it there.
var Comments = map[string]string{"#": "", "//": "", ";": "", "--": "", `"`: "", "%": "", "!": "", "<!--": " -->",
	"/*": " */"}

// Block is a part of a file of text, between two lines of comment that name it. The rest of the file is anybody's. What
// is nil is not said.
type Block struct {
	Path    string  `json:"path"`
	Name    string  `json:"name"`
	Comment *string `json:"comment,omitempty"` // one of Comments
	Content *string `json:"content,omitempty"`
}

// Key names the block on its host.
func (b *Block) Key() string { return b.Name + "/" + b.Path }

func init() {
	kinds[KindBlock] = &things[Block]{what: "block", turn: &sync.Mutex{}, key: (*Block).Key,
		scoped: func(b *Block) string { return b.Path }, read: readBlocks, change: changeBlock,
		difference: func(now, said *Block) string {
			switch {
			case differs(now.Comment, said.Comment):
				return "comment"
			case said.Content != nil && (now.Content == nil || lined(*now.Content) != lined(*said.Content)):
				return "content"
			}
			return ""
		}}
}

var (
	blockName = regexp.MustCompile(BlockName)
	// blockMark is a line that begins a block, or ends it. Ansible's blockinfile marks likewise.
	blockMark = regexp.MustCompile(
		`^(\S{1,4}) (BEGIN|END) IASQL MANAGED BLOCK ([A-Za-z0-9][A-Za-z0-9._-]{0,99})( -->| \*/)?$`)
)

// marked is a block in a text: where its lines begin and end there, those that mark it included.
type marked struct {
	block      Block
	begin, end int
}

// blocksOf returns the blocks of a file's text by name, and why those are none that are not marked as they have to be.
func blocksOf(file, text string) (whole map[string]*marked, broken map[string]error) {
	whole, broken = map[string]*marked{}, map[string]error{}
	var open *marked
	inside, at := 0, 0 // where the content of the open block begins, and the line
	torn := func(name, why string) {
		broken[name] = &Failure{Refused, fmt.Sprintf("block %s of %s %s: mend the file by hand. Of each block it is "+
			"to have one line BEGIN and then one line END IASQL MANAGED BLOCK", name, file, why)}
		delete(whole, name)
	}
	for line := range strings.Lines(text) {
		begin := at
		at += len(line)
		mark := blockMark.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if mark == nil || Comments[mark[1]] != mark[4] {
			continue
		}
		if _, known := Comments[mark[1]]; !known {
			continue
		}
		name := mark[3]
		switch {
		case mark[2] == "BEGIN" && open != nil:
			torn(open.block.Name, "does not end before another begins")
			torn(name, "begins inside another")
			open = nil
		case mark[2] == "BEGIN" && (whole[name] != nil || broken[name] != nil):
			torn(name, "is there twice")
		case mark[2] == "BEGIN":
			open = &marked{block: Block{Path: file, Name: name, Comment: &mark[1]}, begin: begin}
			inside = at
		case open == nil || open.block.Name != name:
			torn(name, "ends without a beginning")
		default:
			content := text[inside:begin]
			open.block.Content, open.end = &content, at
			whole[name], open = open, nil
			if len(content) > maxSystem {
				delete(whole, name)
				broken[name] = &Failure{TooLarge, fmt.Sprintf("block %s of %s is longer than %d KiB", name, file,
					maxSystem>>10)}
			}
		}
	}
	if open != nil {
		torn(open.block.Name, "has no end")
	}
	return whole, broken
}

func readBlocks(t *tree, of *selection, tell func(Block), unread func(string, error)) error {
	seen := map[string]bool{}
	look := func(e Entry) error {
		if seen[e.Path] || e.Kind != File || e.Content == nil {
			return nil // whether there are blocks in it is asked for by name
		}
		seen[e.Path] = true
		whole, broken := blocksOf(e.Path, *e.Content)
		for _, name := range slices.Sorted(maps.Keys(whole)) {
			if b := whole[name].block; of.has(b.Key(), b.Path) {
				tell(b)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(broken)) {
			if b := (&Block{Path: e.Path, Name: name}); of.has(b.Key(), b.Path) {
				unread(b.Key(), broken[name])
			}
		}
		return nil
	}
	if err := t.list(of.patterns, nil, look); err != nil {
		return err
	}
	reader := t.reader()
	for _, key := range slices.Sorted(maps.Keys(of.names)) {
		_, file, _ := strings.Cut(key, "/")
		e, err := reader.at(file)
		switch {
		case codeOf(err) == NoParent || err == nil && e == nil:
		case err != nil:
			unread(key, err)
		case e.Content == nil:
			unread(key, &Failure{Refused, fmt.Sprintf("%s is no file of text of at most %d KiB", file, MaxContent>>10)})
		default:
			_ = look(*e) // which does not fail
		}
	}
	return nil
}

func changeBlock(t *tree, have, want *Block) error {
	of := Either(want, have)
	if !blockName.MatchString(of.Name) || path.Clean(of.Path) != of.Path {
		return &Failure{Refused, fmt.Sprintf("%.60q names no block: letters, digits, . _ and -", of.Name)}
	}
	before, err := t.reader().at(of.Path)
	switch {
	case err != nil && codeOf(err) != NoParent:
		return err
	case before == nil && want == nil:
		return nil
	case before == nil:
		return &Failure{NoParent, fmt.Sprintf("there is no file %q for block %s: make it first, as by INSERT INTO "+
			"host_file", of.Path, of.Name)}
	}
	return t.edit(of.Path, Entry{}, func(text string) (*string, error) {
		whole, broken := blocksOf(of.Path, text)
		for _, name := range slices.Sorted(maps.Keys(broken)) {
			return nil, broken[name] // what is whose is not clear any more
		}
		text, err := withBlock(text, whole[of.Name], want)
		return &text, err
	}, nil)
}

// withBlock returns a text in which a block is as it is wanted, nil if it is to go; there is what there is of it, nil
// if that is nothing. A new one is the last of the text.
func withBlock(text string, there *marked, want *Block) (string, error) {
	head, tail := lined(text), ""
	is := Block{}
	if there != nil {
		is, head, tail = there.block, text[:there.begin], text[there.end:]
	}
	if want == nil {
		if there == nil {
			return text, nil
		}
		return head + tail, nil
	}
	comment, content := said(is.Comment, want.Comment), said(is.Content, want.Content)
	if comment == nil || content == nil {
		return "", &Failure{Refused, fmt.Sprintf("block %s of %s is to have a content and a comment", want.Name,
			want.Path)}
	}
	closing, known := Comments[*comment]
	if !known {
		return "", &Failure{Refused, fmt.Sprintf("%.20q begins no comment that is known", *comment)}
	}
	for line := range strings.Lines(*content) {
		if blockMark.MatchString(strings.TrimRight(line, "\r\n")) {
			return "", &Failure{Refused, fmt.Sprintf("block %s of %s has in it a line that marks a block", want.Name,
				want.Path)}
		}
	}
	mark := func(which string) string {
		return *comment + " " + which + " IASQL MANAGED BLOCK " + want.Name + closing + "\n"
	}
	return head + mark("BEGIN") + lined(*content) + mark("END") + tail, nil
}
