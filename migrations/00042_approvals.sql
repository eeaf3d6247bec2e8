-- +goose Up
INSERT INTO public.iasql_settings (name, value, description) VALUES
    ('required_approvals', '0', 'How many people besides those who have changed something in a batch have to approve of its plan (iasql_approve) before it can be committed. Administrators set it.'),
    ('approvers', '', 'Role whose members may approve of batches; empty: everybody who may open one. Administrators set it.');

CREATE TABLE iasql_internal.approval (
    batch        bigint NOT NULL REFERENCES iasql_internal.batch ON DELETE CASCADE,
    preview_hash text NOT NULL,
    approved_by  text NOT NULL,
    approved_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (batch, preview_hash, approved_by)
);
COMMENT ON TABLE iasql_internal.approval IS 'Who has approved of which plan of a batch: approvals of another plan do not count.';

-- Whoever has opened a batch or changed something in it does not approve of it, under whichever role.
CREATE TABLE iasql_internal.batch_member (
    batch bigint NOT NULL REFERENCES iasql_internal.batch ON DELETE CASCADE,
    login text NOT NULL,
    role  text NOT NULL,
    PRIMARY KEY (batch, login, role)
);
COMMENT ON TABLE iasql_internal.batch_member IS 'Who has opened a batch or changed something in it: logins, and the roles that they had set.';
INSERT INTO iasql_internal.batch_member (batch, login, role) SELECT b.id, b.opened_by, b.opened_by FROM iasql_internal.batch b WHERE b.closed_at IS NULL;

-- +goose Down
DROP TABLE iasql_internal.batch_member, iasql_internal.approval CASCADE;
DROP TRIGGER IF EXISTS iasql_check ON public.iasql_settings;
DELETE FROM public.iasql_settings WHERE name IN ('required_approvals', 'approvers');
