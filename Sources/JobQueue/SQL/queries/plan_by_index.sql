-- For the rest of this transaction: what `plan_in_bulk.sql` changed is as sessions have it.
SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('enable_material', 'off', true), set_config('enable_memoize', 'off', true),
       set_config('enable_seqscan', 'off', true)
