DELETE FROM cancelled_job x WHERE NOT EXISTS (SELECT FROM lease l WHERE l.id = x.lease_id)
