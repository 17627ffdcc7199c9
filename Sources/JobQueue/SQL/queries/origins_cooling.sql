-- Origins that are to be left alone, and for how long.
SELECT url, extract(epoch FROM cooldown_until - now())::float8 AS seconds FROM origin
WHERE cooldown_until > now() ORDER BY cooldown_until DESC LIMIT 1000
