-- $1 URLs. Those of them that are left alone, or that a job is tried at once only.
SELECT url FROM origin
WHERE url = ANY($1::text[]) AND (breaker <> 'closed' OR cooldown_until > now())
