-- Workers heard of in the last minute.
SELECT id, name, active_transfers, extract(epoch FROM now() - last_seen)::float8 AS silent_seconds,
       trouble_code, trouble_message
FROM worker WHERE last_seen > now() - interval '60 seconds' ORDER BY name, id
