-- Origins that are to be left alone, for how long and until when in microseconds since 1970, and
-- whether one job tries it meanwhile.
SELECT url, extract(epoch FROM cooldown_until - now())::float8 AS seconds,
       (extract(epoch FROM cooldown_until) * 1e6)::bigint AS until, breaker = 'halfOpen' AS is_tried
FROM origin
WHERE cooldown_until > now() ORDER BY cooldown_until DESC LIMIT 1000
