-- $1 segment or null, $2 asset, $3 seconds, $4 reason. The origin asked to be left alone.
UPDATE origin SET cooldown_until = greatest(cooldown_until, now() + make_interval(secs => $3)),
    cooldown_reason = $4
WHERE id = coalesce((SELECT origin_id FROM segment WHERE id = $1::bigint),
                    (SELECT origin_id FROM asset WHERE id = $2::bigint))
