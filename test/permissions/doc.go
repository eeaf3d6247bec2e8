// Package permissions tests that the policies that engine iam-policy prints are
// enough: whatever they do not allow is refused.
package permissions
