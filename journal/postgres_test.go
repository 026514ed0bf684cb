package journal_test

import (
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llmtest"
)

// TestPostgres runs on the server of TOOLPOST_POSTGRES, a connection string,
// or else on one of its own, if the distribution's packages are installed.
func TestPostgres(t *testing.T) {
	server := pgtest.Server(t)
	llmtest.TestStore(t, func(t *testing.T) journal.Store { return openSQL(t, "pgx", pgtest.Schema(t, server)) })
	shared := pgtest.Schema(t, server)
	llmtest.TestSharedStore(t, openSQL(t, "pgx", shared), openSQL(t, "pgx", shared))
	keepsKeysOut(t, "pgx", pgtest.Schema(t, server))
}
