-- $1 test; $2 numbers of shares and $3 the first seconds that are still wanted of them.
DELETE FROM load_interval i USING unnest($2::int[], $3::int[]) AS a(number, second)
WHERE i.test_id = $1::uuid AND i.number = a.number AND i.second < a.second
