-- +goose Up
-- The consistency window is read by this and by iasql_operations_elapsed: calls that ended well once, the few others by every cycle.
CREATE INDEX iasql_operations_unsure ON public.iasql_operations (account, elapsed) WHERE result IN ('unknown', 'abandoned');

INSERT INTO public.iasql_settings (name, value, description) VALUES
    ('read_share', '0.5', 'Which share of the rates of calls that the cloud documents the engine''s reads may use, from 0.05 to 1. The rest is for the account''s other programs, and for the engine''s own changes.');

-- +goose Down
-- The earlier version makes its trigger anew.
DROP TRIGGER IF EXISTS iasql_check ON public.iasql_settings;
DELETE FROM public.iasql_settings WHERE name = 'read_share';
DROP INDEX public.iasql_operations_unsure;
