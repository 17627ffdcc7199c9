-- Webhooks: where events are sent, and the deliveries of each.

-- fragment: webhookColumns
-- A webhook w without its secret.
w.id, w.url, w.catalog_id, w.kinds, extract(epoch FROM w.created_at)::float8 AS created,
       w.created_by,
       CASE WHEN w.cooldown_until > clock_timestamp()
            THEN extract(epoch FROM w.cooldown_until)::float8 END AS cooldown_until,
       extract(epoch FROM w.failed_at)::float8 AS failed, w.failed_status::bigint AS failed_status,
       w.failed_code, w.failed_message,
       (SELECT extract(epoch FROM min(d.waiting_since))::float8 FROM webhook_delivery d
        WHERE d.webhook_id = w.id AND d.state = 'waiting') AS waiting_since,
       (SELECT count(*) FROM webhook_delivery d
        WHERE d.webhook_id = w.id AND d.state = 'waiting') AS waiting,
       (SELECT count(*) FROM webhook_delivery d
        WHERE d.webhook_id = w.id AND d.state = 'dead') AS dead

-- fragment: deliveryColumns
-- A delivery d as clients see it.
d.id, d.webhook_id, d.kind, d.state, extract(epoch FROM d.created_at)::float8 AS created,
       d.attempts::bigint AS attempts,
       CASE WHEN d.state = 'waiting' THEN extract(epoch FROM d.due_at)::float8 END AS due,
       extract(epoch FROM d.ended_at)::float8 AS ended, d.status::bigint AS status, d.code,
       d.message

-- name: lock
-- Webhooks are created one after the other, so that none exceeds their number.
LOCK TABLE webhook IN SHARE ROW EXCLUSIVE MODE

-- name: count
SELECT count(*) AS webhooks FROM webhook

-- name: create
-- Its first event is the first that cannot be read yet.
INSERT INTO webhook AS w (url, secret, catalog_id, kinds, created_by, xact, event_id)
VALUES (@url::text, @secret::text, @catalog::bigint, @kinds::text[], @created_by::text,
        events_end(), 0)
RETURNING {{webhookColumns}}

-- name: list
SELECT {{webhookColumns}} FROM webhook w ORDER BY w.id

-- name: change
-- Null for what stays. Its deliveries, waiting and dead ones, follow it; those that wait are due.
WITH due AS (
    UPDATE webhook_delivery SET due_at = clock_timestamp()
    WHERE webhook_id = @webhook::bigint AND state = 'waiting' AND due_at > clock_timestamp()
)
UPDATE webhook w
SET url = coalesce(@url::text, w.url), secret = coalesce(@secret::text, w.secret),
    cooldown_until = '-infinity',
    -- Those of another receiver say nothing about this one.
    failed_at = CASE WHEN @url::text IS NULL THEN w.failed_at END,
    failed_status = CASE WHEN @url::text IS NULL THEN w.failed_status END,
    failed_code = CASE WHEN @url::text IS NULL THEN w.failed_code END,
    failed_message = CASE WHEN @url::text IS NULL THEN w.failed_message END
WHERE w.id = @webhook::bigint
RETURNING {{webhookColumns}}

-- name: remove
DELETE FROM webhook w WHERE w.id = @webhook::bigint RETURNING {{webhookColumns}}

-- name: behind
-- Locks those that have fewer than @waiting deliveries to send, or @webhook alone if it is not null:
-- up to which event each has its deliveries.
SELECT w.id, w.catalog_id, w.kinds, w.xact::text::bigint AS xact, w.event_id
FROM webhook w
WHERE (SELECT count(*) FROM (
           SELECT FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.state = 'waiting'
           LIMIT @waiting::int) AS n) < @waiting::int
  AND (@webhook::bigint IS NULL OR w.id = @webhook::bigint)
ORDER BY w.id FOR NO KEY UPDATE SKIP LOCKED

-- name: enqueue
-- Pairwise kinds and bodies.
INSERT INTO webhook_delivery (webhook_id, kind, body)
SELECT @webhook::bigint, u.kind, u.body
FROM unnest(@kinds::text[], @bodies::text[]) WITH ORDINALITY AS u(kind, body, place)
ORDER BY u.place

-- name: advance
UPDATE webhook SET xact = @xact::bigint::text::xid8, event_id = @event::bigint
WHERE id = @webhook::bigint

-- name: lease
-- Leases deliveries that are due for @seconds: the @each oldest of each webhook but those of @busy and
-- those in a cooldown. The webhooks come in random order, so that none takes the turns of the others.
WITH due AS MATERIALIZED (
    SELECT d.id
    FROM (SELECT id FROM webhook
          WHERE id <> ALL(@busy::bigint[]) AND cooldown_until <= clock_timestamp()
          ORDER BY random()) AS w
    CROSS JOIN LATERAL (
        SELECT n.id FROM webhook_delivery n
        WHERE n.webhook_id = w.id AND n.state = 'waiting' AND n.due_at <= now()
          AND n.leased_until < clock_timestamp()
        ORDER BY n.due_at, n.id LIMIT @each::int FOR UPDATE SKIP LOCKED
    ) AS d
    LIMIT @limit::int
), leased AS (
    UPDATE webhook_delivery d SET attempts = d.attempts + 1,
        leased_until = clock_timestamp() + make_interval(secs => @seconds::float8)
    FROM due WHERE d.id = due.id
    RETURNING d.id, d.webhook_id, d.kind, d.body, d.attempts
)
SELECT l.id, l.webhook_id, l.kind, l.body, l.attempts::bigint AS attempts, w.url,
       w.secret, extract(epoch FROM clock_timestamp())::bigint AS now
FROM leased l JOIN webhook w ON w.id = l.webhook_id ORDER BY l.id

-- name: delivered
-- raises: webhook_delivery.deliver
-- Counts only from the attempt that holds it.
UPDATE webhook_delivery SET state = 'delivered', ended_at = clock_timestamp(),
    leased_until = '-infinity', status = @status::int, code = NULL, message = NULL
WHERE id = @delivery::bigint AND attempts = @attempts::int AND state = 'waiting'

-- name: failed
-- raises: webhook_delivery.retry, webhook_delivery.exhaust
-- Is tried again after @delay seconds, null for never. An attempt that was not made, whose @code is
-- null, does not count, and leaves what the one before it has recorded. Its webhook keeps the last
-- failure, and is sent nothing for @cooldown seconds, null for none; it is locked first, as where it
-- is removed: the delivery is looked for by what that returns.
WITH noted AS (
    UPDATE webhook
    SET cooldown_until = greatest(
            cooldown_until, clock_timestamp() + make_interval(secs => @cooldown::float8)),
        failed_at = clock_timestamp(), failed_status = @status::int, failed_code = @code::text,
        failed_message = @message::text
    WHERE @code::text IS NOT NULL
      AND id = (SELECT d.webhook_id FROM webhook_delivery d
                WHERE d.id = @delivery::bigint AND d.attempts = @attempts::int
                  AND d.state = 'waiting')
    RETURNING id
)
UPDATE webhook_delivery SET state = CASE WHEN @delay::float8 IS NULL THEN 'dead' ELSE 'waiting' END,
    ended_at = CASE WHEN @delay::float8 IS NULL THEN clock_timestamp() END,
    due_at = clock_timestamp() + make_interval(secs => coalesce(@delay::float8, 0)),
    leased_until = '-infinity',
    attempts = attempts - CASE WHEN @code::text IS NULL THEN 1 ELSE 0 END,
    status = CASE WHEN @code::text IS NULL THEN status ELSE @status::int END,
    code = coalesce(@code::text, code), message = coalesce(@message::text, message)
WHERE id = @delivery::bigint AND attempts = @attempts::int AND state = 'waiting'
  AND (@code::text IS NULL OR webhook_id = ANY(ARRAY(SELECT id FROM noted)))

-- name: expire
-- raises: webhook_delivery.expire
-- Ends some that have waited for @seconds; those that are being sent follow later. Readers compose the
-- message of @days and of the last attempt (`RecordedMessage`).
WITH old AS MATERIALIZED (
    SELECT d.id
    FROM webhook w
    CROSS JOIN LATERAL (
        SELECT n.id FROM webhook_delivery n
        WHERE n.webhook_id = w.id AND n.state = 'waiting'
          AND n.waiting_since < now() - make_interval(secs => @seconds::float8)
          AND n.leased_until < clock_timestamp()
        ORDER BY n.waiting_since LIMIT @limit::int FOR UPDATE SKIP LOCKED
    ) AS d
    LIMIT @limit::int
)
UPDATE webhook_delivery d
SET state = 'dead', ended_at = clock_timestamp(), code = @code::text,
    message = json_build_object('undelivered', json_build_object(
        'days', @days::bigint, 'last', CASE WHEN d.code <> @code THEN d.message END))::text
FROM old WHERE d.id = old.id

-- name: exists
SELECT EXISTS (SELECT FROM webhook WHERE id = @webhook::bigint) AS is_known

-- unprepared: deliveries
-- The latest first; @state and @webhook are null for all. Planned for what is given.
SELECT {{deliveryColumns}} FROM webhook_delivery d
WHERE d.id < coalesce(@after::bigint, 9223372036854775807)
  AND (@state::text IS NULL OR d.state = @state)
  AND (@webhook::bigint IS NULL OR d.webhook_id = @webhook)
ORDER BY d.id DESC LIMIT @limit::int

-- name: redeliver
-- raises: webhook_delivery.redeliver
-- Sends one again that was delivered or is dead, from its first attempt on, and ends a cooldown:
-- the others that wait are due too.
WITH resumed AS (
    UPDATE webhook SET cooldown_until = '-infinity'
    WHERE id = (SELECT webhook_id FROM webhook_delivery WHERE id = @delivery::bigint
                AND leased_until < clock_timestamp())
    RETURNING id
), due AS (
    UPDATE webhook_delivery SET due_at = clock_timestamp()
    WHERE webhook_id = (SELECT id FROM resumed) AND id <> @delivery::bigint
      AND state = 'waiting' AND due_at > clock_timestamp()
)
UPDATE webhook_delivery d SET state = 'waiting', attempts = 0, due_at = clock_timestamp(),
    waiting_since = clock_timestamp(), ended_at = NULL
WHERE d.id = @delivery::bigint AND d.webhook_id = (SELECT id FROM resumed)
  AND d.leased_until < clock_timestamp()
RETURNING {{deliveryColumns}}

-- name: trim
-- Some of those that have ended: so long ago, or beyond @rows.
DELETE FROM webhook_delivery WHERE id IN (
    (SELECT id FROM webhook_delivery
     WHERE ended_at < now() - make_interval(secs => @seconds::float8)
     ORDER BY ended_at LIMIT @limit::int)
    UNION
    (SELECT id FROM webhook_delivery
     WHERE id <= (SELECT max(id) FROM webhook_delivery) - @rows::bigint AND ended_at IS NOT NULL
     ORDER BY id LIMIT @limit::int)
    LIMIT @limit::int
)
