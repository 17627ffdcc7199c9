-- $1 lane, $2 synchronous_commit of the claim. A separate statement before the claim, which then sees
-- all claims before the lock was acquired.
SELECT set_config('synchronous_commit', $2::text, true) FROM lane WHERE id = $1::bigint FOR UPDATE
