-- $1 site. Clears its fault.
UPDATE site SET fault_code = NULL, fault_message = NULL, fault_retry_at = NULL, fault_tries = 0,
    fault_ended_at = NULL, resumed_at = clock_timestamp()
WHERE id = $1::bigint
