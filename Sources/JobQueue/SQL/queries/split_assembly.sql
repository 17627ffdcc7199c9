-- $1 assembly, $2 segment, $3 total bytes, $4 validator, $5 parts, $6 the try of the whole file,
-- $7 what the origin states of it.
INSERT INTO assembly (id, segment_id, total_bytes, validator, parts, attempt, digests, site_id)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4, $5::int, $6::smallint, string_to_array($7, ','),
        (SELECT c.site_id FROM segment s JOIN asset a ON a.id = s.asset_id
         JOIN catalog c ON c.id = a.catalog_id WHERE s.id = $2::bigint))
