-- $1 catalog. A deadline belongs to the submission that set it. A refresh that begins after it has none, unless that
-- submission still runs, late.
UPDATE catalog SET deadline = NULL
WHERE id = $1::bigint AND state <> 'running' AND deadline <= now()
