// Package runbook plays each section of docs/runbook.md: it makes the fault, looks whether one sees what the page says,
// types what the page has one type, and looks whether what it promises comes true.
package runbook
