-- Access tokens, and the audit log of changes.

-- fragment: tokenColumns
SELECT t.id, t.name, t.role, t.queues, t.sites, t.created_by,
       extract(epoch FROM t.created_at)::float8 AS created,
       extract(epoch FROM t.expires_at)::float8 AS expires,
       extract(epoch FROM t.revoked_at)::float8 AS revoked,
       extract(epoch FROM t.last_used_at)::float8 AS last_used,
       extract(epoch FROM clock_timestamp())::float8 AS now

-- name: tokens
{{tokenColumns}}
FROM access_token t ORDER BY t.id DESC LIMIT @limit::int

-- name: knownTokens
-- Those that coordinators know: neither revoked nor expired for a day.
SELECT t.id, t.name, t.role, encode(t.hash, 'hex') AS hash, t.queues, t.sites,
       extract(epoch FROM t.expires_at - clock_timestamp())::float8 AS seconds_left
FROM access_token t
WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now() - interval '1 day')

-- name: lockTokens
-- Two that are created at once count each other.
LOCK TABLE access_token IN SHARE ROW EXCLUSIVE MODE

-- name: countTokens
-- Number of `knownTokens`, and the time.
SELECT count(*) AS tokens, extract(epoch FROM clock_timestamp())::float8 AS now
FROM access_token t
WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now() - interval '1 day')

-- name: createToken
-- @name is null for one made of role and number. No row where another token has it.
WITH next AS (
    SELECT nextval(pg_get_serial_sequence('access_token', 'id')) AS id
), t AS (
    INSERT INTO access_token (id, name, role, hash, queues, sites, created_by, expires_at)
    OVERRIDING SYSTEM VALUE
    SELECT n.id, coalesce(@name::text, @role::text || '-' || n.id), @role::text, @hash::bytea,
           @queues::text[], @sites::text[], @created_by::text, to_timestamp(@expires::float8)
    FROM next n
    ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
    RETURNING *
)
{{tokenColumns}} FROM t

-- name: revokeToken
-- By number, or by the name of one that is not revoked. A second time changes nothing.
WITH t AS (
    UPDATE access_token SET revoked_at = coalesce(revoked_at, clock_timestamp())
    WHERE id = coalesce(@token::bigint,
                        (SELECT id FROM access_token WHERE name = @name::text AND revoked_at IS NULL))
    RETURNING *
)
{{tokenColumns}} FROM t

-- name: notifyTokens
SELECT pg_notify('dray_work', 'tokens')

-- name: noteUses
-- To the minute, so that a busy token's row is not written all the time.
WITH used AS MATERIALIZED (
    SELECT id FROM access_token
    WHERE id = ANY(@tokens::bigint[])
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE access_token t SET last_used_at = now() FROM used u WHERE t.id = u.id

-- name: forgetTokens
-- Those that ended long ago.
DELETE FROM access_token
WHERE least(revoked_at, expires_at) < now() - make_interval(days => @days::int)

-- name: sitesOfQueues
-- Those of @sites that are of one of these queues.
SELECT site_id FROM queue WHERE name = ANY(@queues::text[]) AND site_id = ANY(@sites::bigint[])

-- name: siteOfCatalog
SELECT s.storage_url FROM catalog c JOIN site s ON s.id = c.site_id WHERE c.id = @catalog::bigint

-- name: beginChange
-- The change is not known to have been made before its row is there. That may be written to disk with
-- the change: later commits wait for it as well.
INSERT INTO audit_record (token_id, token_name, role, action, object)
VALUES (@token::bigint, @name::text, @role::text, @action::text, @object::text)
RETURNING id

-- name: endChange
-- @detail is null if no more is known of the object than before.
UPDATE audit_record SET status = @status::int, code = @code::text,
    object = left(object || coalesce(', ' || @detail::text, ''), 1000)
WHERE id = @id::bigint

-- name: auditPage
SELECT a.id, extract(epoch FROM a.begun_at)::float8 AS begun, a.token_id, a.token_name, a.role,
       a.action, a.object, a.status::bigint AS status, a.code
FROM audit_record a
WHERE a.id < coalesce(@after::bigint, 9223372036854775807) ORDER BY a.id DESC LIMIT @limit::int

-- name: trimAudit
-- Some of those of long ago, of each token's beyond its latest @rows, and of all beyond the latest
-- @total. Only tokens that were used lately have more than before. The numbers have gaps, so there are
-- at most as many rows as they span.
WITH recent AS MATERIALIZED (
    SELECT DISTINCT token_id AS id FROM audit_record
    WHERE begun_at > now() - interval '10 minutes'
)
DELETE FROM audit_record WHERE id IN (
    (SELECT id FROM audit_record
     WHERE begun_at < now() - make_interval(days => @days::int)
     ORDER BY begun_at LIMIT @limit::int)
    UNION ALL
    (SELECT o.id
     FROM recent t
     CROSS JOIN LATERAL (
         SELECT a.id FROM audit_record a WHERE a.token_id = t.id
         ORDER BY a.id DESC LIMIT @limit::int OFFSET @rows::bigint) AS o
     LIMIT @limit::int)
    UNION ALL
    (SELECT id FROM audit_record
     WHERE (SELECT max(id) - min(id) FROM audit_record) >= @total::bigint
     ORDER BY id DESC LIMIT @limit::int OFFSET @total::bigint)
)

-- fragment: requestLock
-- Locks the key of a request until the end of the transaction; false if another transaction has it.
pg_try_advisory_xact_lock(hashtextextended(
    concat_ws('.', 'dray.request', current_schema(), @caller::bigint, @key::text), 0))

-- name: findRequest
-- One row. Nothing of a request is known while its transaction runs, but that it has the key.
SELECT r.key IS NOT NULL AS is_known, r.digest, r.answer,
       CASE WHEN r.key IS NULL THEN NOT {{requestLock}} ELSE false END AS is_running
FROM (SELECT) AS one
LEFT JOIN repeated_request r
    ON r.caller = @caller::bigint AND r.key = @key::text
       AND r.begun_at >= now() - make_interval(hours => @hours::int)

-- name: boundIdle
-- A coordinator that vanishes without closing its connection does not hold its key for long.
SELECT set_config('idle_in_transaction_session_timeout', '15s', true)

-- name: claimRequest
-- In the transaction of what the request creates. No row, without waiting, while another transaction
-- has the key, and if one has committed it.
INSERT INTO repeated_request AS r (caller, key, digest)
SELECT @caller::bigint, @key::text, @digest::bytea
WHERE {{requestLock}}
ON CONFLICT (caller, key) DO UPDATE
    SET digest = excluded.digest, begun_at = DEFAULT, answer = NULL
    WHERE r.begun_at < now() - make_interval(hours => @hours::int)
RETURNING r.begun_at

-- name: keepAnswer
UPDATE repeated_request SET answer = @answer::bytea
WHERE caller = @caller::bigint AND key = @key::text

-- name: trimRequests
-- Some of those that count no longer, of each token's beyond its latest @rows, and of all beyond the
-- latest @total. Only tokens that were used lately have more than before. By their time: one that is
-- used again meanwhile has another.
WITH recent AS MATERIALIZED (
    SELECT DISTINCT caller AS id FROM repeated_request
    WHERE begun_at > now() - interval '10 minutes'
)
DELETE FROM repeated_request WHERE (caller, key, begun_at) IN (
    (SELECT caller, key, begun_at FROM repeated_request
     WHERE begun_at < now() - make_interval(hours => @hours::int)
     ORDER BY begun_at LIMIT @limit::int)
    UNION ALL
    (SELECT t.id, o.key, o.begun_at
     FROM recent t
     CROSS JOIN LATERAL (
         SELECT r.key, r.begun_at FROM repeated_request r WHERE r.caller = t.id
         ORDER BY r.begun_at DESC LIMIT @limit::int OFFSET @rows::bigint) AS o
     LIMIT @limit::int)
    UNION ALL
    (SELECT caller, key, begun_at FROM repeated_request
     ORDER BY begun_at DESC LIMIT @limit::int OFFSET @total::bigint)
)
