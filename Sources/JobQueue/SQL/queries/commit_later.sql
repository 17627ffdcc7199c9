-- The rest of this transaction does not wait for the disk.
SELECT set_config('synchronous_commit', 'off', true)
