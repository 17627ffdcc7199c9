TABLE (job bigint, kind text, attempt int, asset bigint, site bigint, storage_url text,
       asset_kind text, url text, key text, role text, range_offset bigint, length bigint,
       sha256 text, assembly uuid, total_bytes bigint, validator text, known_bytes bigint,
       known_sha256 text, is_guarded boolean)
