-- Lets workers try again whether the sites can be written whose time has come. One row a site.
WITH locked AS MATERIALIZED (
    SELECT id FROM site WHERE fault_code IS NOT NULL AND fault_retry_at <= clock_timestamp()
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE site t SET fault_retry_at = NULL FROM locked l WHERE t.id = l.id
RETURNING t.id
