-- Where nobody has worked for a week: the next sweep there removes what is as old.
DELETE FROM abandoned_assembly WHERE noted_at < now() - interval '7 days'
