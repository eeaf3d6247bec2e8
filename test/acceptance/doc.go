// Package acceptance tests, from the outside, the first slice of the service: a
// row becomes a VPC and a VPC a row, crashes lose and double nothing, and what is
// wrong is said clearly.
package acceptance
