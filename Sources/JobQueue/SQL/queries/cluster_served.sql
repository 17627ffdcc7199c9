-- $1 seconds that are a pause, $2 the machine of a private cluster, else null. Notes that a coordinator serves. After
-- a pause it serves anew, except where one machine has it all and was not started anew: there a pause is a crash.
UPDATE cluster SET
    served_since = CASE WHEN served_at > now() - make_interval(secs => $1::float8) OR machine = $2::text
                        THEN served_since ELSE now() END,
    served_at = now(),
    machine = $2::text
WHERE served_at IS NULL OR served_at NOT BETWEEN now() - interval '1 s' AND now()
   OR machine IS DISTINCT FROM $2::text
