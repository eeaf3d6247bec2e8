-- +goose Up
INSERT INTO public.iasql_settings (name, value, description) VALUES
    ('read_share_waited', '0.95', 'The share of those rates that reads may use for which somebody waits: an install, iasql_sync_now(), a preview, and what a change needs. From 0.05 to 1; never less than read_share.');
UPDATE public.iasql_settings SET description = 'Which share of the rates of calls that the cloud documents the engine''s reads may use while nobody waits for them, from 0.05 to 1. The rest is for the account''s other programs, and for the engine''s own changes.' WHERE name = 'read_share';

-- +goose Down
DELETE FROM public.iasql_settings WHERE name = 'read_share_waited';
