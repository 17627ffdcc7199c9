-- For the rest of this transaction: a catalog is read as a whole, by several processes where it is large, and
-- each time planned for what is asked.
SELECT set_config('enable_seqscan', 'on', true), set_config('max_parallel_workers_per_gather', '2', true),
       set_config('plan_cache_mode', 'force_custom_plan', true)
