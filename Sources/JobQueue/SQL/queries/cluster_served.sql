-- $1 seconds that are a pause, $2 the machine of a private cluster, else null. Records that a coordinator serves. A
-- pause begins a new period of service. In a private cluster on a machine that did not restart, a pause is a crash, and
-- the period continues.
UPDATE cluster SET
    served_since = CASE WHEN served_at > now() - make_interval(secs => $1::float8) OR machine = $2::text
                        THEN served_since ELSE now() END,
    served_at = now(),
    machine = $2::text
WHERE served_at IS NULL OR served_at NOT BETWEEN now() - interval '1 s' AND now()
   OR machine IS DISTINCT FROM $2::text
