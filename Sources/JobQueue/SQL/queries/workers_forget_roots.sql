-- What workers that have gone may have written to says nothing.
UPDATE worker SET roots = NULL, refused_sites = '{}', queues = NULL
WHERE roots IS NOT NULL OR refused_sites <> '{}' OR queues IS NOT NULL
