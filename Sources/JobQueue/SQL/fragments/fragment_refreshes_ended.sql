WITH gone AS (
    DELETE FROM job WHERE kind = 'refresh'
), delayed AS (
    DELETE FROM delayed_job WHERE kind = 'refresh'
), whole AS (
    UPDATE asset SET state = 'completed' WHERE state = 'refreshing'
    RETURNING catalog_id, directory_id
)
INSERT INTO tally (catalog_id, directory_id, assets_completed)
SELECT catalog_id, directory_id, count(*) FROM whole GROUP BY catalog_id, directory_id;
