-- Pins the search path of the schema's functions to this session's, so that they find the same names whoever calls
-- them, a trigger's above all. Those in plain SQL are called by these alone, and would no longer be inlined.
DO $$
DECLARE
    pinned text;
BEGIN
    FOR pinned IN
        SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE p.pronamespace = to_regnamespace(split_part(current_setting('search_path'), ',', 1))
            AND l.lanname = 'plpgsql'
    LOOP
        EXECUTE 'ALTER FUNCTION ' || pinned || ' SET search_path FROM CURRENT';
    END LOOP;
END
$$
