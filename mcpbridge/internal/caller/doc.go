// Package caller is what serving and relaying share about their clients: the record of a connection, its calls, and
// questions to the person in front of the client.
package caller
