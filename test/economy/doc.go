// Package economy counts the calls that the built engine makes, at the endpoint:
// what installing costs, a full cycle, a quiet minute, and a thousand objects (R24).
package economy
