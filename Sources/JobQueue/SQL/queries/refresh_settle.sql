-- $1 lanes and $2 jobs, pairwise, $3 what each refresh came to, $4 codes and $5 messages of those that failed,
-- $6 whether the asset has other files than before. The jobs are locked by the caller; what they
-- found is recorded. An asset whose refresh failed, before a switch was granted, is what it was.
WITH ended AS MATERIALIZED (
    SELECT j.tid, j.asset_id, r.outcome, r.code, r.message, r.relisted
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bool[])
        AS r(lane, job, outcome, code, message, relisted)
    {{jobOfEach}}
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM ended))
), files AS (
    DELETE FROM refreshed_file f USING ended e WHERE f.asset_id = e.asset_id
), switches AS (
    DELETE FROM refresh_switch w USING ended e WHERE w.asset_id = e.asset_id
), counted AS MATERIALIZED (
    SELECT a.id, a.bytes AS old_bytes, a.adopted_bytes AS old_adopted, a.segments AS old_segments,
           a.segments_done AS old_done, e.outcome, e.code, e.message, e.relisted,
           coalesce(n.bytes, a.bytes) AS bytes, coalesce(n.files, 0) AS files
    FROM ended e
    JOIN asset a ON a.id = e.asset_id AND a.state IN ('refreshing', 'switching')
    LEFT JOIN LATERAL (
        SELECT sum(r.bytes)::bigint AS bytes, count(*)::int AS files
        FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
        WHERE s.asset_id = e.asset_id AND s.part = 0
    ) AS n ON e.outcome = 'changed'
), settled AS (
    UPDATE asset a SET
        state = 'completed', refreshed = c.outcome, failure_code = c.code,
        failure_message = c.message, bytes = c.bytes,
        adopted_bytes = least(a.adopted_bytes, c.bytes),
        segments = CASE WHEN c.relisted THEN c.files ELSE a.segments END,
        segments_done = CASE WHEN c.relisted THEN c.files ELSE a.segments_done END,
        verifies = CASE WHEN c.relisted THEN 0 ELSE a.verifies END,
        verifies_done = CASE WHEN c.relisted THEN 0 ELSE a.verifies_done END,
        changed_at = now()
    FROM counted c WHERE a.id = c.id
    RETURNING a.catalog_id, a.directory_id, a.bytes - c.old_bytes AS bytes,
              a.adopted_bytes - c.old_adopted AS adopted_bytes,
              a.segments - c.old_segments AS segments, a.segments_done - c.old_done AS segments_done
)
INSERT INTO tally (catalog_id, directory_id, assets_completed, segments, segments_done, bytes,
                   adopted_bytes)
SELECT catalog_id, directory_id, count(*), sum(segments), sum(segments_done), sum(bytes),
       sum(adopted_bytes)
FROM settled GROUP BY catalog_id, directory_id
