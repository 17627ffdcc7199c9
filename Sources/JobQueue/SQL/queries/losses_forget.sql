-- Losses that say nothing any more: of workers that were heard of since, of jobs that were done since, of
-- what is gone.
DELETE FROM job_loss x
WHERE EXISTS (SELECT FROM worker w WHERE w.id = x.worker_id AND w.last_seen > x.lost_at)
   OR NOT EXISTS (SELECT FROM catalog c WHERE c.id = x.catalog_id)
   OR CASE
       WHEN x.kind IN ('fetch', 'verify') THEN
           NOT EXISTS (SELECT FROM segment s WHERE s.id = x.target_id)
           OR EXISTS (SELECT FROM result r WHERE r.segment_id = x.target_id AND r.done
                      AND r.recorded_at > x.lost_at)
       WHEN x.kind = 'sums' THEN
           NOT EXISTS (SELECT FROM directory d WHERE d.id = x.target_id)
           OR EXISTS (SELECT FROM catalog c WHERE c.id = x.catalog_id AND c.state = 'completed')
       ELSE NOT EXISTS (SELECT FROM asset a WHERE a.id = x.target_id)
           OR EXISTS (SELECT FROM asset a WHERE a.id = x.target_id AND a.state = 'completed'
                      AND a.changed_at > x.lost_at)
      END
