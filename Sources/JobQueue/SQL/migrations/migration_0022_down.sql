-- One in the midst of its switch has failed; what of it may have moved is fetched when its catalog is submitted again.
DELETE FROM result r USING refreshed_file f, asset a, segment s
WHERE a.state = 'switching' AND f.asset_id = a.id AND f.staged IS NOT NULL
  AND s.asset_id = a.id AND s.key = f.key AND r.segment_id = s.id;
WITH gone AS (
    DELETE FROM job WHERE kind = 'switch'
), delayed AS (
    DELETE FROM delayed_job WHERE kind = 'switch'
), failed AS (
    UPDATE asset SET state = 'failed', refreshed = 'failed', resolved = false,
        failure_code = 'worker.cancelled', failure_message = 'The database went back a version.'
    WHERE state = 'switching' RETURNING catalog_id, directory_id
)
INSERT INTO tally (catalog_id, directory_id, assets_failed)
SELECT catalog_id, directory_id, count(*) FROM failed GROUP BY catalog_id, directory_id;
{{refreshesEnded}}
DROP TABLE refresh_switch;
DROP TABLE refreshed_file;
CREATE TABLE refreshed_file (
    asset_id bigint NOT NULL,
    job_id bigint NOT NULL,
    ordinal int NOT NULL,
    origin text NOT NULL,
    url text NOT NULL,
    key text NOT NULL,
    role text NOT NULL,
    expected_bytes bigint,
    expected_sha256 text,
    content text,
    bytes bigint NOT NULL,
    sha256 text NOT NULL,
    validator text,
    verified boolean NOT NULL,
    PRIMARY KEY (asset_id, job_id, ordinal)
);
