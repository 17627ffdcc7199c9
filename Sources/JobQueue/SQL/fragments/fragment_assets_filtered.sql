a.catalog_id = $1::bigint AND a.generation >= c.generation
      AND ($4::text[] IS NULL OR a.state = ANY($4)) AND ($5::text IS NULL OR a.kind = $5)
      AND ($6::text IS NULL OR a.failure_code LIKE $6) AND ($7::text IS NULL OR a.name LIKE $7)
      AND ($8::text IS NULL OR a.name ILIKE $8 OR a.url ILIKE $8)
      AND ($9::bigint IS NULL OR coalesce(nullif(a.bytes, 0), a.expected_bytes, 0) >= $9)
      AND ($10::bigint IS NULL OR coalesce(nullif(a.bytes, 0), a.expected_bytes, 0) <= $10)
