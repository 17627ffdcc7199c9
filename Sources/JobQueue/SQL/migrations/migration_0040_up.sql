-- What becomes of a directory's part of a SHA256SUMS: `due` from the end of its assets on, `read` by the worker whose
-- turn it is, `written` when that one has reported. Null before its assets have ended for the first time.
ALTER TABLE directory ADD COLUMN sums text CHECK (sums IN ('due', 'read', 'written'));
CREATE INDEX directory_sums_unwritten ON directory (site_id, path) WHERE sums IN ('due', 'read');
-- Lists of a directory are read catalog by catalog.
DROP INDEX directory_by_path;
CREATE INDEX directory_by_path ON directory (site_id, path, id);

-- Whose turn it is to write the SHA256SUMS of a directory, for all catalogs that have it.
CREATE TABLE sums_writer (
    site_id bigint NOT NULL,
    path text NOT NULL,
    lane_id bigint NOT NULL,
    job_id bigint NOT NULL,
    lease_id uuid NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    -- Since when the job is gone while its lease stands: the worker may not know yet.
    lost_at timestamptz,
    PRIMARY KEY (site_id, path)
) WITH (fillfactor = 70);
