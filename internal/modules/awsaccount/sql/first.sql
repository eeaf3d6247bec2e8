-- With no credentials of its own it uses those of the engine's environment.
INSERT INTO public.aws_account (name, is_default)
VALUES ('default', true)
ON CONFLICT DO NOTHING;
