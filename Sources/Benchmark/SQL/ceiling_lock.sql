-- $1 lane. A statement before the claim, which then sees what was claimed before the lock was had.
SELECT FROM lane WHERE id = $1::bigint FOR UPDATE
