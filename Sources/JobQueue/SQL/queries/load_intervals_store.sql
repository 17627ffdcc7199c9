-- $1 test, $2 number of a share, $3 seconds and $4 what was measured in each.
INSERT INTO load_interval (test_id, number, second, data)
SELECT $1::uuid, $2::int, i.second, i.data FROM unnest($3::int[], $4::text[]) AS i(second, data)
