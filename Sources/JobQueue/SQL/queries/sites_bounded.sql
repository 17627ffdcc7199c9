-- Whether any site has a bandwidth in force.
SELECT EXISTS (SELECT FROM site WHERE bytes_per_second IS NOT NULL) AS is_any
