-- +goose Up
INSERT INTO public.iasql_settings (name, value, description) VALUES
    ('progress_timeout', '10 minutes', 'How long a commit or an undoing goes on while no record gets any further and all that are left fail again and again, or wait for those.');

-- +goose Down
DROP TRIGGER IF EXISTS iasql_check ON public.iasql_settings;
DELETE FROM public.iasql_settings WHERE name = 'progress_timeout';
