-- $1 asset, $2 those of its segments that wait for fresh URLs and get none, null for all that wait, $3 failure code and
-- $4 message, null for what the origin answered to each. They fail for good. Answers with the files whose parts they are.
WITH settled AS MATERIALIZED (
    DELETE FROM delayed_job
    WHERE asset_id = $1::bigint AND refused_code IS NOT NULL AND refused_code <> 'content.changed'
      AND ($2::bigint[] IS NULL OR segment_id = ANY($2::bigint[]))
    RETURNING asset_id, segment_id, whole_id, attempt - 1 AS attempt, false AS done,
              NULL::bigint AS bytes, NULL::text AS sha256, false AS adopted,
              coalesce($3::text, refused_code) AS code,
              coalesce($4::text, refused_message) AS message, false AS verified,
              NULL::text AS validator
), {{settleFetches}}
SELECT DISTINCT ON (whole_id) whole_id, code, message FROM settled
WHERE whole_id IS NOT NULL ORDER BY whole_id
