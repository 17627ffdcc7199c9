-- Why a catalog has nothing under way, and how fast it has been lately.

-- Why a job is tried again, where nothing but time is waited for.
ALTER TABLE delayed_job ADD COLUMN retry_code text;
-- A catalog's next try is its first row.
DROP INDEX delayed_job_of_catalog;
CREATE INDEX delayed_job_of_catalog ON delayed_job (catalog_id, available_at);

-- The queues that it takes jobs of; null for all of them.
ALTER TABLE worker ADD COLUMN queues text[];

-- Two samples of a catalog's counts, 30 to 120 seconds apart: {seconds since 1970, segments that ended, bytes fetched}
-- of the first one, then of the second. A fold moves them; null before the first one.
ALTER TABLE catalog ADD COLUMN pace float8[];
