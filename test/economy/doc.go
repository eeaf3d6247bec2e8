// Package economy counts the calls that the built engine makes, at the endpoint:
// what installing costs, a full cycle, a quiet minute, a thousand objects, and many accounts (R24).
package economy
