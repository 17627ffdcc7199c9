-- Whether any site has a bandwidth in force or any origin a limit, and whether any site has a bound to its room,
-- cannot be written or has something that is to be removed.
SELECT coalesce(bool_or(bytes_per_second IS NOT NULL), false)
           OR EXISTS (SELECT FROM origin WHERE max_connections IS NOT NULL
                      OR requests_per_second IS NOT NULL OR bytes_per_second IS NOT NULL) AS is_limited,
       coalesce(bool_or(floor_bytes IS NOT NULL OR quota_bytes IS NOT NULL
                        OR fault_code IS NOT NULL), false)
           OR EXISTS (SELECT FROM abandoned_assembly) AS is_narrow
FROM site
