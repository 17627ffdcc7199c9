-- Nothing else of this transaction waits for a lock for long.
SELECT set_config('lock_timeout', '500ms', true)
