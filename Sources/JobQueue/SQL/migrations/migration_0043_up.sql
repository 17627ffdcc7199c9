-- Signed URLs expire. Of a title: whether its manifest is read again for fresh ones, how often in a row it was without
-- a segment stored since, and how many were stored when it was last queued.
ALTER TABLE asset ADD COLUMN renewing boolean NOT NULL DEFAULT false,
    ADD COLUMN renewals smallint NOT NULL DEFAULT 0,
    ADD COLUMN renewed_done int NOT NULL DEFAULT 0,
    -- Submitted again with another signature; what is not stored gets it with the next start.
    ADD COLUMN url_changed boolean NOT NULL DEFAULT false;
-- When its URL was last replaced by a fresh one.
ALTER TABLE segment ADD COLUMN renewed_at timestamptz;
-- Of a job that waits for a fresh URL: what the origin answered to the last one. It is never due.
ALTER TABLE delayed_job ADD COLUMN refused_code text, ADD COLUMN refused_message text;
CREATE INDEX delayed_job_refused ON delayed_job (asset_id, segment_id) WHERE refused_code IS NOT NULL;
