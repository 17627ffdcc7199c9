-- Whether any site has a bandwidth in force, and whether any has a bound to its room, cannot be written or
-- has something that is to be removed.
SELECT coalesce(bool_or(bytes_per_second IS NOT NULL), false) AS is_fed_slowly,
       coalesce(bool_or(floor_bytes IS NOT NULL OR quota_bytes IS NOT NULL
                        OR fault_code IS NOT NULL), false)
           OR EXISTS (SELECT FROM abandoned_assembly) AS is_narrow
FROM site
