-- $1 assets and $2 jobs, pairwise. The jobs that have handed in files.
SELECT g.job
FROM unnest($1::bigint[], $2::bigint[]) AS g(asset, job)
WHERE EXISTS (SELECT FROM refreshed_file f WHERE f.asset_id = g.asset AND f.job_id = g.job)
