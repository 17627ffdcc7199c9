-- $1 catalog. The mirrors of the assets that are staged, in place of those that they had.
WITH given AS (
    SELECT a.id, string_to_array(s.mirrors, E'\n') AS urls
    FROM staged_asset s
    JOIN asset a ON a.catalog_id = $1::bigint AND a.name = s.name
), gone AS (
    DELETE FROM mirror m USING given g WHERE m.asset_id = g.id AND g.urls IS NULL
), kept AS (
    INSERT INTO mirror AS m (asset_id, urls)
    SELECT id, urls FROM given WHERE urls IS NOT NULL ORDER BY id
    ON CONFLICT (asset_id) DO UPDATE SET urls = excluded.urls
        WHERE m.urls IS DISTINCT FROM excluded.urls
)
UPDATE catalog SET has_mirrors = true
WHERE id = $1 AND NOT has_mirrors AND EXISTS (SELECT FROM staged_asset WHERE mirrors IS NOT NULL)
