-- +goose Up
-- Events tell of all changes of an object, also of those that both sides have agreed on since: such a one is not the other
-- side of a conflict.
ALTER TABLE public.iasql_conflicts ADD COLUMN since timestamptz;
COMMENT ON COLUMN public.iasql_conflicts.since IS 'Of what came up while events are read: when both sides had last agreed on the object, six hours before at most. The change in the cloud is from between then and at.';
COMMENT ON TABLE iasql_internal.own_request IS 'What the cloud calls the requests that engines have made: the events of those tell nothing new. Also those from before events are read, as queues and trails keep what they are sent.';

-- +goose Down
COMMENT ON TABLE iasql_internal.own_request IS 'What the cloud calls the requests that engines have made while events are read: the events of those tell nothing new.';
ALTER TABLE public.iasql_conflicts DROP COLUMN since CASCADE;
