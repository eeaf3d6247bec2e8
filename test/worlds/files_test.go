package worlds

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"iasql/internal/modules"
)

// world is one of which neither the core nor the store nor the SQL knows anything: an account
// is a folder, and its shelves and notes are files of JSON.
const world = "files"

var folders = &modules.Table{Name: "folder", Doc: "Folders.", Provider: world, DefinesAccounts: true,
	Columns: []modules.Column{{Name: "name", Type: modules.TypeText, Required: true, Identity: true, Doc: "Its name."}}}

var (
	ofFolder = modules.Column{Name: modules.ColumnAccount, Type: modules.TypeText, Required: true, Default: "'desk'",
		CreateOnly: true, Doc: "The folder.",
		References: &modules.Reference{Table: "folder", Key: "name", ByKey: true}}
	shelves = &modules.Table{Name: "shelf", Doc: "Shelves.", Provider: world, Reach: modules.PerAccount,
		Creation: modules.ByName,
		Columns: []modules.Column{ofFolder,
			{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true, Doc: "Its name."}}}
	notes = &modules.Table{Name: "note", Doc: "Notes.", Provider: world, Reach: modules.PerAccount,
		Creation: modules.ByName,
		Columns: []modules.Column{ofFolder,
			{Name: "title", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Doc: "Its title."},
			{Name: "shelf_id", Type: modules.TypeBigint, Doc: "The shelf.",
				References: &modules.Reference{Table: "shelf", Key: "name"}},
			{Name: "body", Type: modules.TypeText, Doc: "Its text."},
			{Name: "pages", Type: modules.TypeInteger, Required: true, Default: "1", Doc: "How many pages."}}}
)

// files are the resource of a table: the files of one folder in each account.
type files struct {
	root  string
	table *modules.Table
}

func module(root string) *modules.Module {
	return &modules.Module{Name: "files", Version: 1, Doc: "Folders of files.", Settings: []*modules.Table{folders},
		Resources:  []modules.Resource{files{root, shelves}, files{root, notes}},
		Migrations: map[int]string{1: `INSERT INTO public.folder (name) VALUES ('desk')`}}
}

func (f files) Table() *modules.Table { return f.table }

func (f files) dir(s modules.Scope) string { return filepath.Join(f.root, s.Account, f.table.Name) }

func (f files) path(s modules.Scope, row modules.Row) string {
	return filepath.Join(f.dir(s), url.PathEscape(row[f.table.Identity()[0]].String())+".json")
}

func (f files) read(path string) (modules.Row, error) {
	var content map[string]*string
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	row := modules.Row{}
	for _, c := range f.table.Columns[1:] { // without the folder
		row[c.Name] = modules.TextPtr(content[c.Name])
	}
	return row, err
}

// write writes a file so that no reader sees half of it.
func (f files) write(path string, row modules.Row, link func(from, to string) error) error {
	content := map[string]*string{}
	for _, c := range f.table.Columns[1:] {
		content[c.Name] = row[c.Name].Ptr()
	}
	text, err := json.Marshal(content)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o600)
	}
	if err != nil {
		return err
	}
	defer os.Remove(path + ".new")
	return link(path+".new", path)
}

// List gives all files to page. A folder that is not there is no empty one.
func (f files) List(ctx context.Context, r modules.ListRequest, page func([]modules.Observation) error) error {
	all, err := os.ReadDir(f.dir(r.Scope))
	if err != nil {
		return err
	}
	var identities []modules.Row
	for _, file := range all {
		if key, is := strings.CutSuffix(file.Name(), ".json"); is {
			key, _ = url.PathUnescape(key)
			identities = append(identities, modules.Row{f.table.Identity()[0]: modules.Text(key)})
		}
	}
	found, err := f.Get(ctx, modules.GetRequest{Scope: r.Scope, Identities: identities})
	if err != nil {
		return err
	}
	return page(found)
}

func (f files) Get(_ context.Context, r modules.GetRequest) (all []modules.Observation, err error) {
	if _, err := os.Stat(f.dir(r.Scope)); err != nil {
		return nil, err
	}
	for _, identity := range r.Identities {
		row, err := f.read(f.path(r.Scope, identity))
		if err == nil {
			all = append(all, modules.Observation{Row: row})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}

func (f files) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	key := f.table.Identity()[0]
	return modules.Row{key: m.Want[key]},
		m.Permit.Do(ctx, modules.Call{Service: world, Action: "Create"}, func(modules.Entry) error {
			err := f.write(f.path(m.Scope, m.Want), m.Want, os.Link)
			if errors.Is(err, fs.ErrExist) {
				err = &modules.Error{Class: modules.Exists, Code: "Exists", Message: "there is one", Err: err}
			}
			return err
		})
}

func (f files) Update(ctx context.Context, m modules.Mutation) error {
	return m.Permit.Do(ctx, modules.Call{Service: world, Action: "Update"}, func(modules.Entry) error {
		row, err := f.read(f.path(m.Scope, m.Have))
		if err != nil {
			return err
		}
		for _, column := range m.Columns {
			row[column] = m.Want[column]
		}
		return f.write(f.path(m.Scope, m.Have), row, os.Rename)
	})
}

func (f files) Delete(ctx context.Context, m modules.Mutation) error {
	return m.Permit.Do(ctx, modules.Call{Service: world, Action: "Delete"}, func(modules.Entry) error {
		_ = os.Remove(f.path(m.Scope, m.Have)) // the next look tells
		return nil
	})
}
