-- $1 test, $2 number of a share.
SELECT breakdown FROM load_share WHERE test_id = $1::uuid AND number = $2::int
