-- $1 worker, pairwise $2 kinds and $3 numbers of resources that it uses nothing of any more.
DELETE FROM quota q USING unnest($2::text[], $3::bigint[]) AS u(kind, id)
WHERE q.worker_id = $1::uuid AND q.kind = u.kind AND q.resource_id = u.id
