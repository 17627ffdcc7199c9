-- $1 test. Somebody wants it. No row where there is no such test.
UPDATE load_test SET followed_at = clock_timestamp() WHERE id = $1::uuid RETURNING id
