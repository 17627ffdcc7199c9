-- $1 site. The roots of the workers that are heard of, when none of these may write to it; else null.
SELECT outside_roots($1::bigint)
