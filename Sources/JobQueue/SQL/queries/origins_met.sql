-- $1 URLs of origins that did something to be remembered, in order, $2 the most there may be that no list names,
-- $3 the most to be made at once. Those without a row get one, as far as that goes.
INSERT INTO origin (url, is_listed)
SELECT u.url, false FROM unnest($1::text[]) WITH ORDINALITY AS u(url, place)
WHERE NOT EXISTS (SELECT FROM origin o WHERE o.url = u.url)
ORDER BY u.place
LIMIT least($3::bigint, greatest($2::bigint - (
    SELECT count(*) FROM (SELECT FROM origin WHERE NOT is_listed LIMIT $2::bigint) AS n), 0))
ON CONFLICT (url) DO NOTHING
