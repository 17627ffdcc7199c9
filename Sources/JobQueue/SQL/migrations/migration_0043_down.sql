-- What waits for a fresh URL is tried with the one it has.
DELETE FROM job j USING asset a WHERE a.renewing AND j.kind = 'resolve' AND j.asset_id = a.id;
DELETE FROM delayed_job d USING asset a WHERE a.renewing AND d.kind = 'resolve' AND d.asset_id = a.id;
UPDATE delayed_job SET available_at = now() WHERE refused_code IS NOT NULL;
DROP INDEX delayed_job_refused;
ALTER TABLE delayed_job DROP COLUMN refused_code, DROP COLUMN refused_message;
ALTER TABLE segment DROP COLUMN renewed_at;
ALTER TABLE asset DROP COLUMN renewing, DROP COLUMN renewals, DROP COLUMN renewed_done,
    DROP COLUMN url_changed;
