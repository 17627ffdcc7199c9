-- $1 catalog, $2 priority. How much of it is under way, which is not written: its lanes take the
-- priority of their catalog.
UPDATE catalog c SET priority = $2::smallint WHERE id = $1::bigint
RETURNING CASE WHEN state = 'running' THEN assets - assets_completed - assets_failed - assets_cancelled ELSE 0 END
              AS assets,
          CASE WHEN state = 'running' THEN segments - segments_done - segments_failed ELSE 0 END
              AS jobs
