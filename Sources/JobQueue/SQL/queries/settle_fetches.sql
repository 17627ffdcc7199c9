-- $1 lanes and $2 jobs, pairwise, $3 done, $4 bytes, $5 sha256, $6 adopted, $7 failure codes,
-- $8 failure messages, $9 verified, $10 validators. Fetches that ended, done or failed for good: results in, jobs out, and the
-- counts of their assets. The jobs are locked by the caller.
WITH settled AS MATERIALIZED (
    SELECT j.tid, j.asset_id, j.segment_id, j.attempt, r.done, r.bytes, r.sha256, r.adopted, r.code,
           r.message, r.verified, r.validator
    FROM unnest($1::bigint[], $2::bigint[], $3::bool[], $4::bigint[], $5::text[], $6::bool[],
                $7::text[], $8::text[], $9::bool[], $10::text[])
         AS r(lane, job, done, bytes, sha256, adopted, code, message, verified, validator)
    {{jobOfEach}}
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM settled))
), {{settleFetches}}
SELECT count(*) FROM settled
