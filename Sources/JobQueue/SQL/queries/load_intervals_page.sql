-- $1 test; $2 numbers of shares and $3 the first seconds that are wanted of them, all of them of those that are not
-- named; $4 most rows.
SELECT i.number, i.second, i.data
FROM load_interval i LEFT JOIN unnest($2::int[], $3::int[]) AS a(number, second) ON a.number = i.number
WHERE i.test_id = $1::uuid AND i.second >= coalesce(a.second, 0)
ORDER BY i.second, i.number LIMIT $4::int
