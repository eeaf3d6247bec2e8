-- +goose Up
-- Who has changed something in the cloud, where an event of the cloud has told.
ALTER TABLE public.iasql_audit_log
    ADD COLUMN actor text,
    ADD COLUMN actor_session text,
    ADD COLUMN source_address text,
    ADD COLUMN user_agent text,
    ADD COLUMN event_id text,
    ADD COLUMN event_time timestamptz,
    ADD COLUMN also text[],
    ADD COLUMN since timestamptz;
COMMENT ON COLUMN public.iasql_audit_log.actor IS 'Of what was found in the cloud: who changed it there, as the newest event between since and ts that names the object says (an ARN). NULL: no event has told.';
COMMENT ON COLUMN public.iasql_audit_log.actor_session IS 'Name of the actor''s session, if it has assumed a role: with IAM Identity Center, of the person.';
COMMENT ON COLUMN public.iasql_audit_log.source_address IS 'Where the actor''s call came from: an IP address, or the name of a service.';
COMMENT ON COLUMN public.iasql_audit_log.user_agent IS 'The tool that made the call, as it calls itself.';
COMMENT ON COLUMN public.iasql_audit_log.event_id IS 'The event that told: the eventID of CloudTrail.';
COMMENT ON COLUMN public.iasql_audit_log.event_time IS 'When the call was made, by the cloud''s clock.';
COMMENT ON COLUMN public.iasql_audit_log.also IS 'Who else has changed the object between since and ts: the change may be theirs.';
COMMENT ON COLUMN public.iasql_audit_log.since IS 'Of what was found in the cloud while events are read: when the object had last been looked at before. The change is from between then and ts.';
CREATE INDEX iasql_audit_log_actor ON public.iasql_audit_log (actor, ts) WHERE actor IS NOT NULL;
CREATE INDEX iasql_audit_log_actor_session ON public.iasql_audit_log (actor_session, ts) WHERE actor_session IS NOT NULL;
CREATE INDEX iasql_audit_log_unknown_actor ON public.iasql_audit_log (account, ts) WHERE actor IS NULL AND since IS NOT NULL;

ALTER TABLE public.iasql_conflicts
    ADD COLUMN actor text,
    ADD COLUMN event_id text,
    ADD COLUMN event_time timestamptz;
COMMENT ON COLUMN public.iasql_conflicts.actor IS 'Who was on the other side: who had changed the object in the cloud last, if an event has told.';
COMMENT ON COLUMN public.iasql_conflicts.event_id IS 'The event that told: the eventID of CloudTrail.';
COMMENT ON COLUMN public.iasql_conflicts.event_time IS 'When the call was made, by the cloud''s clock.';

CREATE TABLE iasql_internal.event_source (
    account    text NOT NULL REFERENCES iasql_internal.account (name) ON DELETE CASCADE,
    name       text NOT NULL,
    region     text,
    kind       text NOT NULL CHECK (kind IN ('queue', 'trail')),
    place      text NOT NULL,
    holder     text,
    held_until timestamptz NOT NULL DEFAULT '-infinity',
    answered   timestamptz,
    error      text,
    heard      timestamptz,
    behind     interval,
    beat       timestamptz,
    beat_error text,
    limited    timestamptz,
    proven     boolean NOT NULL DEFAULT false,
    events     bigint NOT NULL DEFAULT 0,
    doubles    bigint NOT NULL DEFAULT 0,
    foreign_   bigint NOT NULL DEFAULT 0,
    malformed  bigint NOT NULL DEFAULT 0,
    dropped    bigint NOT NULL DEFAULT 0,
    mark       text,
    PRIMARY KEY (account, name)
) WITH (fillfactor = 50);
COMMENT ON TABLE iasql_internal.event_source IS 'What engines know of the sources of events, one row each: whether they answer, and what they have brought. Made and deleted by the engine that reads them.';
COMMENT ON COLUMN iasql_internal.event_source.region IS 'Region whose events it has; NULL: those of all.';
COMMENT ON COLUMN iasql_internal.event_source.place IS 'The queue or the trail''s folder: if another takes its place, nothing that was known of the first counts.';
COMMENT ON COLUMN iasql_internal.event_source.holder IS 'Engine that reads it, until held_until. That two do is no harm.';
COMMENT ON COLUMN iasql_internal.event_source.answered IS 'When it last answered.';
COMMENT ON COLUMN iasql_internal.event_source.error IS 'Why it did not the last time; NULL if it did.';
COMMENT ON COLUMN iasql_internal.event_source.heard IS 'When the last event came through it: one of the account''s, or the engine''s own heartbeat.';
COMMENT ON COLUMN iasql_internal.event_source.behind IS 'How old the oldest message was of those that were read last.';
COMMENT ON COLUMN iasql_internal.event_source.beat IS 'When the engine last made the call whose event is its heartbeat.';
COMMENT ON COLUMN iasql_internal.event_source.beat_error IS 'Why it cannot make that call; NULL if it can. Then only the traffic of others shows that events come.';
COMMENT ON COLUMN iasql_internal.event_source.limited IS 'When events were last dropped since there were too many.';
COMMENT ON COLUMN iasql_internal.event_source.proven IS 'An event has come through it. Before that no message that is none is deleted: the queue may be another program''s.';
COMMENT ON COLUMN iasql_internal.event_source.foreign_ IS 'Events of other accounts, which were dropped.';
COMMENT ON COLUMN iasql_internal.event_source.malformed IS 'Messages that are no events, which were dropped.';
COMMENT ON COLUMN iasql_internal.event_source.dropped IS 'Events that were dropped since there were too many.';
COMMENT ON COLUMN iasql_internal.event_source.mark IS 'Up to which file a trail has been read.';

CREATE TABLE iasql_internal.event_source_region (
    account    text NOT NULL,
    name       text NOT NULL,
    of_account text NOT NULL,
    region     text NOT NULL,
    heard      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account, name, of_account, region),
    FOREIGN KEY (account, name) REFERENCES iasql_internal.event_source ON DELETE CASCADE
);
COMMENT ON TABLE iasql_internal.event_source_region IS 'Accounts and regions of which events have come through a source: their rules are there.';
CREATE INDEX event_source_region_of ON iasql_internal.event_source_region (of_account);

CREATE TABLE iasql_internal.cloud_event (
    account        text NOT NULL REFERENCES iasql_internal.account (name) ON DELETE CASCADE,
    id             text NOT NULL,
    region         text NOT NULL,
    service        text NOT NULL,
    call           text NOT NULL,
    at             timestamptz NOT NULL,
    received       timestamptz NOT NULL DEFAULT clock_timestamp(),
    request_id     text,
    actor          text,
    actor_session  text,
    source_address text,
    user_agent     text,
    PRIMARY KEY (account, id)
);
COMMENT ON TABLE iasql_internal.cloud_event IS 'What the cloud has told of calls that others made, for a few hours: hints where to look, and who made the call. Never facts about objects (R26).';
COMMENT ON COLUMN iasql_internal.cloud_event.request_id IS 'What the cloud calls the request: by it the engine recognizes its own.';
CREATE INDEX cloud_event_received ON iasql_internal.cloud_event (received);

CREATE TABLE iasql_internal.hint (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account     text NOT NULL,
    event       text NOT NULL,
    table_name  text NOT NULL,
    region      text NOT NULL,
    column_name text,
    value       text,
    existing    boolean NOT NULL DEFAULT false,
    due         timestamptz DEFAULT now(),
    tries       integer NOT NULL DEFAULT 0,
    FOREIGN KEY (account, event) REFERENCES iasql_internal.cloud_event ON DELETE CASCADE
);
COMMENT ON TABLE iasql_internal.hint IS 'Where events say that something has changed: an object by a value of a column, or (column_name NULL) any of a table and region.';
COMMENT ON COLUMN iasql_internal.hint.existing IS 'Where no record has the value it is one of another table.';
COMMENT ON COLUMN iasql_internal.hint.due IS 'When it is to be looked into; NULL: it has been.';
COMMENT ON COLUMN iasql_internal.hint.tries IS 'How often it has been looked into and is to be once more.';
CREATE INDEX hint_due ON iasql_internal.hint (account, due) WHERE due IS NOT NULL;
CREATE INDEX hint_event ON iasql_internal.hint (account, event);
CREATE INDEX hint_value ON iasql_internal.hint (table_name, value) WHERE value IS NOT NULL;

CREATE TABLE iasql_internal.own_request (
    id text PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE iasql_internal.own_request IS 'What the cloud calls the requests that engines have made while events are read: the events of those tell nothing new.';
CREATE INDEX own_request_at ON iasql_internal.own_request (at);

INSERT INTO public.iasql_settings (name, value, description) VALUES
    ('watched_staleness', '1 hour', 'What max_staleness is for tables and regions whose changes events tell of, while they do (see iasql_event_sources).');

-- +goose Down
DROP TRIGGER IF EXISTS iasql_check ON public.iasql_settings;
DELETE FROM public.iasql_settings WHERE name = 'watched_staleness';
DROP TABLE iasql_internal.own_request, iasql_internal.hint, iasql_internal.cloud_event, iasql_internal.event_source_region, iasql_internal.event_source CASCADE;
ALTER TABLE public.iasql_conflicts DROP COLUMN actor CASCADE, DROP COLUMN event_id CASCADE, DROP COLUMN event_time CASCADE;
ALTER TABLE public.iasql_audit_log DROP COLUMN actor CASCADE, DROP COLUMN actor_session CASCADE, DROP COLUMN source_address CASCADE, DROP COLUMN user_agent CASCADE,
    DROP COLUMN event_id CASCADE, DROP COLUMN event_time CASCADE, DROP COLUMN also CASCADE, DROP COLUMN since CASCADE;
