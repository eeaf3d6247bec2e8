-- The registry of cells. It is small, and nothing but the commands of engine cells reads it.
CREATE SCHEMA IF NOT EXISTS iasql_cells;
COMMENT ON SCHEMA iasql_cells IS 'Which cells there are, and which account is in which one (engine cells).';

CREATE TABLE IF NOT EXISTS iasql_cells.cell (
    name       text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_]{0,30}$'),
    connection text NOT NULL,
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'lost')),
    added      timestamptz NOT NULL DEFAULT now(),
    added_by   text NOT NULL DEFAULT session_user,
    asked      timestamptz,
    answered   timestamptz,
    trouble    text
);
COMMENT ON TABLE iasql_cells.cell IS 'Every cell: a database for a group of accounts, with its engines.';
COMMENT ON COLUMN iasql_cells.cell.name IS 'What people call it.';
COMMENT ON COLUMN iasql_cells.cell.connection IS 'How to connect to it, without a password.';
COMMENT ON COLUMN iasql_cells.cell.state IS 'lost: nobody asks it, and the union leaves it out (engine cells mark).';
COMMENT ON COLUMN iasql_cells.cell.asked IS 'When it was last asked.';
COMMENT ON COLUMN iasql_cells.cell.answered IS 'When it last answered.';
COMMENT ON COLUMN iasql_cells.cell.trouble IS 'Why it did not answer when it was last asked; NULL if it did.';

CREATE TABLE IF NOT EXISTS iasql_cells.account (
    cell       text NOT NULL REFERENCES iasql_cells.cell (name) ON DELETE CASCADE,
    name       text NOT NULL,
    kind       text NOT NULL,
    identity   text,
    first_seen timestamptz NOT NULL DEFAULT now(),
    seen       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (cell, name)
);
CREATE INDEX IF NOT EXISTS account_identity ON iasql_cells.account (kind, identity);
COMMENT ON TABLE iasql_cells.account IS 'Which account is in which cell, as the cells said when they last answered.';
COMMENT ON COLUMN iasql_cells.account.name IS 'What its cell calls it.';
COMMENT ON COLUMN iasql_cells.account.kind IS 'The kind of account, as iasql_worlds of the cell says.';
COMMENT ON COLUMN iasql_cells.account.identity IS 'Who it is pinned as (iasql_worlds.pinned_as); NULL until it was first asked.';
COMMENT ON COLUMN iasql_cells.account.first_seen IS 'When its cell first said so.';
COMMENT ON COLUMN iasql_cells.account.seen IS 'When its cell last said so.';

CREATE OR REPLACE VIEW iasql_cells.doubled AS
SELECT a.kind, a.identity, array_agg(a.cell ORDER BY a.first_seen, a.cell) AS cells
FROM iasql_cells.account a WHERE a.identity IS NOT NULL
GROUP BY a.kind, a.identity HAVING count(DISTINCT a.cell) > 1;
COMMENT ON VIEW iasql_cells.doubled IS 'Accounts that are in more than one cell, whose engines would work against each other.';
COMMENT ON COLUMN iasql_cells.doubled.cells IS 'The cells, the one that had it first at the beginning.';

CREATE TABLE IF NOT EXISTS iasql_cells.reader (
    role  name PRIMARY KEY,
    added timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE iasql_cells.reader IS 'The roles that read the union, each as itself in every cell (engine cells union --reader).';

CREATE TABLE IF NOT EXISTS iasql_cells.move (
    id       uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    account  text NOT NULL,
    source   text NOT NULL REFERENCES iasql_cells.cell (name) ON DELETE RESTRICT,
    target   text NOT NULL REFERENCES iasql_cells.cell (name) ON DELETE RESTRICT,
    name     text NOT NULL,
    step     text NOT NULL DEFAULT 'hold' CHECK (step IN ('hold', 'copy', 'hand over', 'release', 'remove', 'moved', 'undone')),
    begun    timestamptz NOT NULL DEFAULT now(),
    begun_by text NOT NULL DEFAULT session_user,
    stepped  timestamptz NOT NULL DEFAULT now(),
    ended    timestamptz,
    CHECK (source <> target)
);
CREATE UNIQUE INDEX IF NOT EXISTS move_unfinished ON iasql_cells.move (source, account) WHERE ended IS NULL;
COMMENT ON TABLE iasql_cells.move IS 'Moves of accounts from one cell to another (engine cells move). How far one is the two cells know: step is what was begun last.';
COMMENT ON COLUMN iasql_cells.move.account IS 'What the source calls the account.';
COMMENT ON COLUMN iasql_cells.move.name IS 'What the target calls it.';
COMMENT ON COLUMN iasql_cells.move.step IS 'What was begun last; moved or undone once it has ended.';
COMMENT ON COLUMN iasql_cells.move.stepped IS 'When that was begun.';
COMMENT ON COLUMN iasql_cells.move.ended IS 'When the move ended; NULL: it has not, and engine cells move goes on with it.';
