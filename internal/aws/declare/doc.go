// Package declare makes resources of declarations: a table is its columns, each
// of which says where it lives in the API's shapes, and the few calls by which
// its objects live.
//
//	declare.New(clients, declare.Table[ecrtypes.Repository]{
//		Name:    "repository",
//		Service: declare.Service(ecr.NewFromConfig),
//		Columns: []declare.Column{
//			declare.Name("repository_name", "RepositoryName", "The repository's name."),
//			declare.Bool("scan_on_push", "ImageScanningConfiguration.ScanOnPush", "Whether …").Default("false"),
//			…
//		},
//		List:   declare.Pages(ecr.NewDescribeRepositoriesPaginator, "Repositories"),
//		Get:    declare.Named("RepositoryNames", 100),
//		Create: declare.Call((*ecr.Client).CreateRepository),
//		…
//	})
//
// A [Table] is declared by the SDK's own types: the compiler finds a call that
// there is not, and [New] a member that there is not, a column that can be
// changed and that no call changes, a call that does not name its object. What
// New finds, [Resource.Validate] tells before anything runs.
//
// The files follow an object's life. column.go and codec.go say what a column is,
// documents.go when two documents are the same and how lists of parts change, path.go
// where it lives, call.go how an operation's input is filled. table.go
// has the declaration, and bind.go finds its columns in the calls' shapes.
// list.go, read.go and get.go find and read objects; create.go, update.go,
// delete.go and tags.go change them; step.go is what a module's own code beside a
// declaration works with.
//
// A resource keeps the contract of package modules: a listing is complete or
// fails, an object missing from what Get returns is proven not to exist, and a
// change to NULL is never left out because nobody thought of it.
package declare
