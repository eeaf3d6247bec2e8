-- +goose Up
-- An engine of the version before may be at work. It has its lease before it writes what else is altered here: in another
-- order the two would wait for each other.
LOCK TABLE iasql_internal.lease IN ACCESS EXCLUSIVE MODE;
-- What a read has shown of a deletion that is under way was known by the words of a message, which any other message
-- wiped out (R17).
ALTER TABLE iasql_internal.record_state ADD COLUMN seen_going boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN iasql_internal.record_state.seen_going IS 'The last read that told anything has shown the object as being deleted.';
ALTER TABLE iasql_internal.garbage ADD COLUMN seen_going boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN iasql_internal.garbage.seen_going IS 'The last read that told anything has shown the object as being deleted.';
UPDATE iasql_internal.record_state SET seen_going = true WHERE message LIKE 'the object is being deleted%';
UPDATE iasql_internal.garbage SET seen_going = true WHERE message LIKE 'the old object is being deleted%';

-- Who an account, or another world, is: R27.
CREATE TABLE iasql_internal.world (
    account   text PRIMARY KEY REFERENCES iasql_internal.account (name) ON DELETE CASCADE,
    identity  text,
    pinned_at timestamptz,
    pinned_by text,
    said      text,
    answered  timestamptz,
    trouble   text,
    code      text NOT NULL DEFAULT '',
    since     timestamptz
);
COMMENT ON TABLE iasql_internal.world IS 'Who each account is, as it said itself when it was first asked or a person confirmed it, and why nothing is done about it now, if so (R27).';
COMMENT ON COLUMN iasql_internal.world.identity IS 'What the account said it is when it was pinned: for AWS, partition:account id.';
COMMENT ON COLUMN iasql_internal.world.said IS 'What it said when it was asked last.';
COMMENT ON COLUMN iasql_internal.world.answered IS 'About when it last said who it is.';
COMMENT ON COLUMN iasql_internal.world.trouble IS 'Why cycles do nothing about it; NULL: they do.';
COMMENT ON COLUMN iasql_internal.world.code IS 'identity: a person has to say that it is meant. Empty: it is not known who it is.';
COMMENT ON COLUMN iasql_internal.world.since IS 'Since when that is so.';

-- What cannot be read: R32.
CREATE TABLE iasql_internal.unread (
    account    text NOT NULL REFERENCES iasql_internal.account (name) ON DELETE CASCADE,
    table_name text NOT NULL REFERENCES public.iasql_tables ("table") ON DELETE CASCADE,
    region     text NOT NULL,
    error      text NOT NULL,
    denied     boolean NOT NULL,
    partly     boolean NOT NULL,
    since      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account, table_name, region)
);
COMMENT ON TABLE iasql_internal.unread IS 'The tables whose last listing in a region failed or was denied, and since when no listing has succeeded there (R32).';
COMMENT ON COLUMN iasql_internal.unread.partly IS 'All but what the error names was listed.';
INSERT INTO iasql_internal.unread (account, table_name, region, error, denied, partly, since)
SELECT account, table_name, region, denied, true, partly, tried FROM iasql_internal.listing WHERE denied IS NOT NULL;

-- Which server and which of its timelines the database is on, and whether it has gone back: R30.
CREATE TABLE iasql_internal.server_seen (
    one               boolean PRIMARY KEY DEFAULT true CHECK (one),
    system_identifier text,
    timeline          bigint,
    restored_at       timestamptz,
    restored_why      text,
    restored_audit    bigint
);
COMMENT ON TABLE iasql_internal.server_seen IS 'On which server the database was when an engine looked last, and whether it has gone back in time (R30).';
COMMENT ON COLUMN iasql_internal.server_seen.system_identifier IS 'Of the server that the database was on (manual, section 9.27.12).';
COMMENT ON COLUMN iasql_internal.server_seen.timeline IS 'The server''s timeline then (manual, section 26.3.5).';
COMMENT ON COLUMN iasql_internal.server_seen.restored_at IS 'When an engine found that the database may have gone back in time, and nobody has said since that what was pending then is meant; NULL otherwise.';
COMMENT ON COLUMN iasql_internal.server_seen.restored_why IS 'What it found.';
COMMENT ON COLUMN iasql_internal.server_seen.restored_audit IS 'Newest row of the audit log then.';
INSERT INTO iasql_internal.server_seen DEFAULT VALUES;

-- A connection alone does not show that an engine gets on: R31.
ALTER TABLE iasql_internal.lease ADD COLUMN beat timestamptz, ADD COLUMN beat_fence bigint;
COMMENT ON COLUMN iasql_internal.lease.beat IS 'When the holder last showed that its cycle gets on.';
COMMENT ON COLUMN iasql_internal.lease.beat_fence IS 'Fence of the lease that showed it. That of another: the holder is of a version that shows nothing.';
ALTER TABLE iasql_internal.engine ADD COLUMN beat timestamptz, ADD COLUMN stuck text;
COMMENT ON COLUMN iasql_internal.engine.beat IS 'When it last showed that it runs; NULL: it is of a version that does not.';
COMMENT ON COLUMN iasql_internal.engine.stuck IS 'Which of its cycles do not get on; NULL: none.';

-- +goose Down
ALTER TABLE iasql_internal.lease DROP COLUMN beat CASCADE, DROP COLUMN beat_fence CASCADE;
ALTER TABLE iasql_internal.engine DROP COLUMN beat CASCADE, DROP COLUMN stuck CASCADE;
DROP TABLE iasql_internal.server_seen CASCADE;
DROP TABLE iasql_internal.world, iasql_internal.unread CASCADE;
ALTER TABLE iasql_internal.record_state DROP COLUMN seen_going CASCADE;
ALTER TABLE iasql_internal.garbage DROP COLUMN seen_going CASCADE;
