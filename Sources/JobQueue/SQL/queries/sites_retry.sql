-- Lets workers try again whether the sites can be written whose time has come. One row a site.
UPDATE site SET fault_retry_at = NULL
WHERE fault_code IS NOT NULL AND fault_retry_at <= clock_timestamp()
RETURNING id
