-- What is over: cooldowns, quotas, and decisions beyond the latest of each origin and worker.
WITH cooled AS (
    UPDATE origin SET cooldown_until = NULL
    WHERE cooldown_until < now() - interval '1 minute' AND breaker = 'closed'
), quotas AS (
    DELETE FROM quota WHERE ends_at < now() - interval '1 hour'
)
DELETE FROM origin_decision d USING (
    SELECT id, row_number() OVER (PARTITION BY origin_id, worker_id ORDER BY id DESC) AS place,
           decided_at
    FROM origin_decision
) AS n
WHERE d.id = n.id
  AND (n.place > CASE WHEN d.worker_id IS NULL THEN 20 ELSE 1 END
       OR n.decided_at < now() - interval '30 days')
