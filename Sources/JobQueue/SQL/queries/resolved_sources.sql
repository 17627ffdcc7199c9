-- $1 asset. What else may tell of a title's files: what was put aside of itself, and other titles of its site
-- with its manifest, the last ones that changed.
SELECT $1::bigint AS id WHERE EXISTS (SELECT FROM former_file WHERE asset_id = $1::bigint)
UNION ALL
(SELECT b.id
FROM asset a
JOIN catalog c ON c.id = a.catalog_id
JOIN asset b ON hashtextextended(b.key, 0) = hashtextextended(a.key, 0) AND b.kind <> 'file'
JOIN catalog e ON e.id = b.catalog_id
WHERE a.id = $1::bigint AND b.id <> a.id AND b.key = a.key AND b.url = a.url
  AND e.site_id = c.site_id
  AND EXISTS (
      SELECT FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
      WHERE s.asset_id = b.id)
ORDER BY b.changed_at DESC LIMIT 4)
