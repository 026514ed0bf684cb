// Package vendorapi is what all servers that look like a vendor's have in common, the
// simulator and the gateway alike: which path asks what in which format, how a request
// is read, and how errors, lists of models, counts of tokens and answers that are kept
// are written. It decides nothing: who is asked and what is answered is the server's own.
package vendorapi
