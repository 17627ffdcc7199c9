-- $1 assets. In their order, whether their refreshes have handed in files; of one that was granted its switch, how many its
-- manifest lists by now, null where these are as before.
SELECT g.asset, EXISTS (SELECT FROM refreshed_file f WHERE f.asset_id = g.asset) AS has_files,
       w.segments
FROM unnest($1::bigint[]) WITH ORDINALITY AS g(asset, place)
LEFT JOIN refresh_switch w ON w.asset_id = g.asset
ORDER BY g.place
