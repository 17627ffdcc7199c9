-- When assets have ended.

-- name: settled_state
-- The state of an asset that is under way, by its counts. Whatever ends segments and verifications
-- asks this: reports, the fold of tallies, and failures that are rarer. One that may lack renditions
-- is still in progress when some have failed: `optional_renditions.sql` decides. In plain SQL, so that
-- it is inlined.
CREATE OR REPLACE FUNCTION settled_state(segments bigint, segments_done bigint, segments_failed bigint,
                              verifies bigint, verifies_done bigint, verifies_failed bigint, may_lack boolean)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN segments_done + segments_failed < segments THEN 'inProgress'
                WHEN verifies_done + verifies_failed < verifies THEN 'verifying'
                WHEN segments_failed + verifies_failed > 0
                    THEN CASE WHEN may_lack THEN 'inProgress' ELSE 'failed' END
                ELSE 'completed' END
$$
