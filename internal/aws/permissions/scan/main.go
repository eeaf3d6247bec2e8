// Command scan writes which operations of AWS each module calls, as its source
// says: go run ./scan operations.json. It type-checks the modules' packages and
// follows what they use of packages aws and declare.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	shared   = "iasql/internal/aws"
	declares = shared + "/declare"
	modules  = "iasql/internal/modules"
	services = "github.com/aws/aws-sdk-go-v2/service/"
)

// isShared reports whether modules use a package for their calls.
func isShared(path string) bool { return path == shared || path == declares }

func main() {
	out, err := scan()
	if err == nil {
		err = os.WriteFile(os.Args[1], out, 0o644) // #nosec G306 -- source, for everybody to read
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scan:", err)
		os.Exit(1)
	}
}

// scan returns the operations by module, as JSON.
func scan() ([]byte, error) {
	packages, exports, err := list()
	if err != nil {
		return nil, err
	}
	p := &program{fset: token.NewFileSet(), uses: map[types.Object]map[types.Object]bool{},
		operations: map[types.Object]map[string]bool{}}
	p.importer = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	byModule := map[string][]string{}
	checked := map[string]*types.Package{}
	for _, pkg := range packages { // shared ones first: modules refer to its objects by name
		types, name, err := p.check(pkg)
		if err != nil {
			return nil, err
		}
		checked[pkg.ImportPath] = types
		if name == "" {
			continue
		}
		found := map[string]bool{}
		seen := map[string]bool{}
		for object := range p.uses {
			if object.Pkg() == types {
				p.collect(object, found, seen)
			}
		}
		operations := []string{}
		for operation := range found {
			operations = append(operations, operation)
		}
		slices.Sort(operations)
		byModule[name] = operations
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(byModule); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// list returns package aws, package declare and those of the modules, and where the compiler has
// put the types of all packages that they import.
func list() (packages []listed, exports map[string]string, err error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", shared, declares,
		modules+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	exports = map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg listed
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		exports[pkg.ImportPath] = pkg.Export
		if isShared(pkg.ImportPath) || strings.HasPrefix(pkg.ImportPath, modules+"/aws") {
			packages = append(packages, pkg)
		}
	}
	slices.SortStableFunc(packages, func(a, b listed) int {
		if isShared(a.ImportPath) != isShared(b.ImportPath) {
			if isShared(a.ImportPath) {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ImportPath, b.ImportPath)
	})
	return packages, exports, nil
}

// program is what is known of the functions of the packages checked so far.
type program struct {
	fset       *token.FileSet
	importer   types.Importer
	uses       map[types.Object]map[types.Object]bool // by declared object: what of these packages it refers to
	operations map[types.Object]map[string]bool       // by declared object: the operations that it calls
	// functions and methods of packages aws and declare by their full names
	shared map[string]types.Object
}

// check reads a package, and returns its module's name, if it has one.
func (p *program) check(pkg listed) (checked *types.Package, module string, err error) {
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(p.fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, "", err
		}
		files = append(files, file)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: p.importer}
	if checked, err = config.Check(pkg.ImportPath, p.fset, files, info); err != nil {
		return nil, "", err
	}
	if p.shared == nil {
		p.shared = map[string]types.Object{}
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			for _, object := range declared(info, decl) {
				p.uses[object], p.operations[object] = map[types.Object]bool{}, map[string]bool{}
				if isShared(pkg.ImportPath) {
					p.shared[fullName(object)] = object
				}
				ast.Inspect(decl, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.Ident:
						if used := info.Uses[n]; used != nil {
							p.note(object, used)
						}
					case *ast.CompositeLit:
						if name := moduleName(info, n); name != "" {
							module = name
						}
					}
					return true
				})
			}
		}
	}
	// What a type has from one that it embeds is called through interfaces.
	for _, name := range checked.Scope().Names() {
		object, ok := checked.Scope().Lookup(name).(*types.TypeName)
		if !ok || isShared(pkg.ImportPath) {
			continue
		}
		set := types.NewMethodSet(types.NewPointer(object.Type()))
		if p.uses[object] == nil {
			p.uses[object], p.operations[object] = map[types.Object]bool{}, map[string]bool{}
		}
		for i := range set.Len() {
			if method := set.At(i).Obj(); method.Pkg() != nil && isShared(method.Pkg().Path()) {
				p.note(object, method)
			}
		}
	}
	return checked, module, nil
}

// declared returns the functions, methods, types and variables of a declaration.
func declared(info *types.Info, decl ast.Decl) []types.Object {
	var objects []types.Object
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		objects = append(objects, info.Defs[decl.Name])
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if spec, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range spec.Names {
					if name.Name != "_" {
						objects = append(objects, info.Defs[name])
					}
				}
			}
		}
	}
	return objects
}

// note notes that object refers to used: to an operation of the SDK, or to
// something of these packages.
func (p *program) note(object, used types.Object) {
	if f, ok := used.(*types.Func); ok {
		used = f.Origin()
	}
	if field, ok := used.(*types.Var); used.Pkg() == nil || ok && field.IsField() {
		return
	}
	path := used.Pkg().Path()
	if service, ok := strings.CutPrefix(path, services); ok && !strings.Contains(service, "/") {
		if operation := operationOf(used); operation != "" {
			p.operations[object][service+":"+operation] = true
		}
		return
	}
	if isShared(path) || strings.HasPrefix(path, modules+"/aws") {
		p.uses[object][used] = true
	}
}

// operationOf returns the operation that a function of an SDK's client package
// stands for: a method of its Client, a paginator, a waiter.
func operationOf(used types.Object) string {
	f, ok := used.(*types.Func)
	if !ok {
		return ""
	}
	signature := f.Type().(*types.Signature)
	if recv := signature.Recv(); recv != nil {
		pointer, ok := recv.Type().(*types.Pointer)
		if !ok {
			return ""
		}
		named, ok := pointer.Elem().(*types.Named)
		if !ok || named.Obj().Name() != "Client" || f.Name() == "Options" {
			return ""
		}
		return f.Name()
	}
	name, isNew := strings.CutPrefix(f.Name(), "New")
	if operation, ok := strings.CutSuffix(name, "Paginator"); ok && isNew {
		return operation
	}
	// A waiter is made of a client of one operation: DescribeInstancesAPIClient.
	if isNew && strings.HasSuffix(name, "Waiter") {
		if client, ok := signature.Params().At(0).Type().(*types.Named); ok {
			return strings.TrimSuffix(client.Obj().Name(), "APIClient")
		}
	}
	return ""
}

// collect adds the operations that object calls, and those of what it refers to
// in packages aws and declare.
func (p *program) collect(object types.Object, found, seen map[string]bool) {
	if seen[fullName(object)] {
		return
	}
	seen[fullName(object)] = true
	for operation := range p.operations[object] {
		found[operation] = true
	}
	for used := range p.uses[object] {
		if isShared(used.Pkg().Path()) {
			// Modules see it through the compiler's export data, as another object.
			if known := p.shared[fullName(used)]; known != nil {
				p.collect(known, found, seen)
			}
		}
	}
}

func fullName(object types.Object) string {
	if f, ok := object.(*types.Func); ok {
		return f.FullName()
	}
	return object.Pkg().Path() + "." + object.Name()
}

// moduleName returns the name in a modules.Module{Name: …}.
func moduleName(info *types.Info, lit *ast.CompositeLit) string {
	named, ok := info.Types[lit].Type.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != modules || named.Obj().Name() != "Module" {
		return ""
	}
	for _, element := range lit.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok || pair.Key.(*ast.Ident).Name != "Name" {
			continue
		}
		if value := info.Types[pair.Value].Value; value != nil {
			name, _ := strconv.Unquote(value.ExactString())
			return name
		}
	}
	return ""
}
