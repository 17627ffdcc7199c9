DELETE FROM worker WHERE last_seen < now() - interval '1 day'
