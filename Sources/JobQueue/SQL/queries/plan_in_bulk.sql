-- For the rest of this transaction: joins of whole catalogs, not of a batch of rows.
SELECT set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true),
       set_config('enable_material', 'on', true), set_config('enable_memoize', 'on', true),
       set_config('enable_seqscan', 'on', true)
