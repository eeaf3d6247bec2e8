// Package docs carries the documentation of modules within the program, for whoever
// looks at it through the console.
package docs

import "embed"

// Modules holds a page for each module, modules/NAME.md, and one for all compositions,
// compositions.md, in Markdown.
//
//go:embed modules/*.md compositions.md
var Modules embed.FS

// Pages holds pages whose words the product's own texts have (package iasql/internal/support).
//
//go:embed design.md operating.md runbook.md batches.md watch.md
var Pages embed.FS
