ALTER TABLE public.web_service
    ADD COLUMN domain text CHECK (domain ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$'),
    ADD COLUMN further_domains text[] NOT NULL DEFAULT '{}',
    ADD CHECK (domain IS NOT NULL OR further_domains = '{}');
COMMENT ON COLUMN public.web_service.certificate IS 'The id of the record of certificate with which it answers HTTPS; HTTP leads there then. NULL: that of domain, or it answers HTTP.';
COMMENT ON COLUMN public.web_service.domain IS 'The name it is reached by, such as www.example.com: it gets DNS records in the account''s public zone that the name is in, and a certificate if none is given. NULL: it is reached by the dns_name of its load balancer.';
COMMENT ON COLUMN public.web_service.further_domains IS 'Further names it is reached by, such as {example.com}.';
