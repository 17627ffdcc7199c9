-- When assets have ended.

-- name: settled_state
-- The state of an asset that is under way, by its counts. Whatever ends segments and verifications
-- asks this: reports, the fold of tallies, and failures that are rarer. In plain SQL, so that it is
-- inlined.
CREATE OR REPLACE FUNCTION settled_state(segments bigint, segments_done bigint, segments_failed bigint,
                              verifies bigint, verifies_done bigint, verifies_failed bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN segments_done + segments_failed < segments THEN 'inProgress'
                WHEN verifies_done + verifies_failed < verifies THEN 'verifying'
                WHEN segments_failed + verifies_failed > 0 THEN 'failed'
                ELSE 'completed' END
$$
