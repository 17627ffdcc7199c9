-- $1 asset, $2 the job that refreshes it. What earlier tries handed in.
DELETE FROM refreshed_file WHERE asset_id = $1::bigint AND job_id <> $2::bigint
