SELECT max_connections, requests_per_second, bytes_per_second,
       extract(epoch FROM clock_timestamp())::float8 AS now
FROM origin WHERE id = 0
