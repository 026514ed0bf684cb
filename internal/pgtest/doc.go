// Package pgtest gives tests a PostgreSQL server.
package pgtest
