-- +goose Up
-- Most calls change either tags or what is no tag, and most services tell tags by a call of their own.
ALTER TABLE iasql_internal.hint ADD COLUMN portion text CHECK (portion IN ('tags', 'rest'));
UPDATE iasql_internal.hint SET portion = 'tags' WHERE of_tags;
ALTER TABLE iasql_internal.hint DROP COLUMN of_tags;
COMMENT ON COLUMN iasql_internal.hint.portion IS 'What the call has changed at most: tags, or the rest, which is everything but tags; NULL: anything. No more has to be read.';

-- +goose Down
ALTER TABLE iasql_internal.hint ADD COLUMN of_tags boolean NOT NULL DEFAULT false;
UPDATE iasql_internal.hint SET of_tags = true WHERE portion = 'tags';
ALTER TABLE iasql_internal.hint DROP COLUMN portion;
COMMENT ON COLUMN iasql_internal.hint.of_tags IS 'The call has changed tags and nothing else: nothing else has to be read.';
