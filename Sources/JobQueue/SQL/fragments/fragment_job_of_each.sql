-- Of rows r the job of each, which is locked: by its index, one by one. Where statistics are those of a queue that was
-- empty, a join looks through all jobs for each.
CROSS JOIN LATERAL (
    SELECT ctid AS tid, * FROM job WHERE lane_id = r.lane AND id = r.job OFFSET 0
) AS j
