-- $1 lane, $2 whether the claim's commit waits for the disk. A statement before the claim, which then
-- sees what was claimed before the lock was had.
SELECT set_config('synchronous_commit', $2::text, true) FROM lane WHERE id = $1::bigint FOR UPDATE
