package console

import (
	"bytes"
	"io/fs"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"iasql/docs"
)

// manual shows the documentation of a module, as it belongs to this engine's version.
func (c *Console) manual(v *visit) {
	name := v.r.PathValue("module")
	composition := false
	if !documented(name) {
		if err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
			return tx.QueryRow(v.ctx(), `SELECT EXISTS (SELECT FROM iasql_internal.composition c WHERE c.name = $1)`, name).
				Scan(&composition)
		}); err != nil {
			v.failed(err)
			return
		}
	}
	path := "modules/" + name + ".md"
	if composition {
		path = "compositions.md" // what all of them do; their columns are on the pages of their tables
	}
	source, err := fs.ReadFile(docs.Modules, path)
	if err != nil {
		v.problem(http.StatusNotFound, "No module "+name+" has documentation here.",
			"The list of modules links to those that have.")
		return
	}
	page, err := markdown(comment.ReplaceAll(source, nil))
	if err != nil {
		v.failed(err)
		return
	}
	v.page(name, "",
		h.P(h.A(h.Href("/modules#"+name), g.Text("All modules")), g.Text(" · "),
			h.A(h.Href(to("/map", "module", name)), g.Text("Diagram of the installed tables"))),
		h.Article(h.Class("card manual"), g.Raw(page)))
}

// comment is a line for who writes a page, or for a test.
var comment = regexp.MustCompile(`(?m)^<!--.*-->\n`)

// documented reports whether a module has a page of documentation: tables that are made from
// AWS's schemas have none.
func documented(module string) bool {
	_, err := fs.Stat(docs.Modules, "modules/"+module+".md")
	return err == nil
}

// markdown makes HTML of a page of ours. What looks like HTML within it is text, as <name>
// in a description is; the title is left out, which the frame of the page has; goldmark
// drops addresses of dangerous schemes.
func markdown(source []byte) (string, error) {
	without := func(parsers []util.PrioritizedValue, kind any) []util.PrioritizedValue {
		return slices.DeleteFunc(parsers, func(p util.PrioritizedValue) bool {
			return reflect.TypeOf(p.Value) == reflect.TypeOf(kind)
		})
	}
	md := goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(without(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
			parser.WithInlineParsers(without(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
			parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(forConsole{}, 100)))),
		goldmark.WithExtensions(extension.Table))
	var out bytes.Buffer
	err := md.Convert(source, &out)
	return out.String(), err
}

// forConsole leaves out of a page what the console shows elsewhere, and has links
// between modules' pages lead to the console's.
type forConsole struct{}

// Transform implements [parser.ASTTransformer].
func (forConsole) Transform(page *ast.Document, reader text.Reader, _ parser.Context) {
	var out []ast.Node
	_ = ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 {
				out = append(out, n)
			}
		case *ast.FencedCodeBlock:
			if string(n.Language(reader.Source())) == "mermaid" { // the map draws it
				out = append(out, n)
				if title, ok := n.PreviousSibling().(*ast.Heading); ok {
					out = append(out, title)
				}
			}
		case *ast.Link:
			target := string(n.Destination)
			switch path, anchor, _ := strings.Cut(target, "#"); {
			case strings.Contains(target, "://") || path == "":
			case strings.HasSuffix(path, ".md") && !strings.Contains(path, "/"):
				n.Destination = []byte("/modules/" + strings.TrimSuffix(path, ".md"))
				if anchor != "" {
					n.Destination = append(n.Destination, "#"+anchor...)
				}
			default: // another page of the documentation, which is not within the program
				for child := n.FirstChild(); child != nil; child = n.FirstChild() {
					n.Parent().InsertBefore(n.Parent(), n, child)
				}
				out = append(out, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range out {
		if n.Parent() != nil {
			n.Parent().RemoveChild(n.Parent(), n)
		}
	}
}
