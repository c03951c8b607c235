/**
 * The SQL that creates the objects of a `postgresLock`: two tables, a sequence and two functions. It may be run any
 * number of times, for instance in a migration, if the application itself may not create them.
 * @param schema the target schema. Default: the first of the `search_path`
 */
export function postgresLockSchema(schema?: string): string {
  const at = schema === undefined ? '' : `${quotedName(schema)}.`
  return [tables(at), take(at), giveBack(at)].join('\n')
}

/** A quoted name for SQL. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function tables(at: string): string {
  return `-- The holders of locks. An expired lease may still have a row.
CREATE TABLE IF NOT EXISTS ${at}herdless_locks (
  name text PRIMARY KEY,
  token text NOT NULL,
  fence bigint NOT NULL,
  until timestamptz NOT NULL
);
-- The waiters for locks, in the order of their requests, and until when each keeps its place.
CREATE TABLE IF NOT EXISTS ${at}herdless_lock_queue (
  name text NOT NULL,
  token text NOT NULL,
  place bigint GENERATED ALWAYS AS IDENTITY,
  inbox text NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (name, token)
);
CREATE SEQUENCE IF NOT EXISTS ${at}herdless_lock_fences;
`
}

/** Held for the transaction: serialises the requests for one name, even before it has a row. */
const oneAfterTheOther = `PERFORM pg_advisory_xact_lock(1751478884, hashtext(its_name));`

function take(at: string): string {
  return `-- Request a lock: grant it, or take a place in the queue if another holder has it. One atomic step.
-- waits: 'fair', 'any' or 'no'; times in milliseconds.
-- rest: time after which a new request may win; null if only the waiter before knows.
CREATE OR REPLACE FUNCTION ${at}herdless_lock_take(its_name text, its_token text, its_inbox text, ttl double precision,
  waits text, place_kept double precision, OUT state text, OUT its_fence bigint, OUT rest double precision)
LANGUAGE plpgsql AS $$
DECLARE
  holder record;
  front record;
  gone integer;
  this_moment timestamptz;
BEGIN
  ${oneAfterTheOther}
  -- Waits for a renewal that may be under way.
  SELECT token, fence, until INTO holder FROM ${at}herdless_locks WHERE name = its_name FOR UPDATE;
  this_moment := clock_timestamp();
  IF holder.token = its_token AND holder.until > this_moment THEN
    state := 'held';
    its_fence := holder.fence;
    RETURN;
  END IF;
  -- Waiters that have not requested for too long are gone.
  DELETE FROM ${at}herdless_lock_queue WHERE name = its_name AND until <= this_moment;
  GET DIAGNOSTICS gone = ROW_COUNT;
  SELECT token, inbox, until INTO front FROM ${at}herdless_lock_queue WHERE name = its_name ORDER BY place LIMIT 1;
  IF holder.until > this_moment THEN
    rest := extract(epoch FROM holder.until - this_moment) * 1000;
  ELSIF waits <> 'fair' OR front.token IS NULL OR front.token = its_token THEN
    DELETE FROM ${at}herdless_lock_queue WHERE name = its_name AND token = its_token;
    -- Drawn while requests for this name are serialised, so that it is greater than all before it.
    its_fence := nextval('${at.replaceAll("'", "''")}herdless_lock_fences');
    INSERT INTO ${at}herdless_locks VALUES (its_name, its_token, its_fence, this_moment + ttl * interval '1 ms')
      ON CONFLICT (name) DO UPDATE SET token = excluded.token, fence = excluded.fence, until = excluded.until;
    -- Now and then, sweep up the rows of dead processes.
    IF random() < 0.01 THEN
      DELETE FROM ${at}herdless_locks WHERE until < this_moment - interval '1 day';
      DELETE FROM ${at}herdless_lock_queue WHERE until < this_moment - interval '1 day';
    END IF;
    state := 'held';
    RETURN;
  ELSIF gone > 0 AND front.inbox <> '' THEN
    -- The first waiter has been told. If that was a waiter that is gone now, the next one has not been told yet.
    PERFORM pg_notify(front.inbox, front.token);
  END IF;
  state := 'busy';
  IF waits <> 'no' THEN
    INSERT INTO ${at}herdless_lock_queue (name, token, inbox, until)
      VALUES (its_name, its_token, its_inbox, this_moment + place_kept * interval '1 ms')
      ON CONFLICT (name, token) DO UPDATE SET inbox = excluded.inbox, until = excluded.until;
    -- Only the first waiter need ask when the holder's lease ends: the others come after it.
    IF front.token <> its_token THEN rest := NULL; END IF;
  END IF;
END $$;
`
}

function giveBack(at: string): string {
  return `-- Release a lock, or a place in its queue. If the lock is free then, tell the first waiter in the queue.
-- held: token of the holder, or ''; waited: token of a waiter that leaves the queue, or ''
-- place_kept: how long the first waiter keeps its place once told, in milliseconds
CREATE OR REPLACE FUNCTION ${at}herdless_lock_give_back(its_name text, held text, waited text,
  place_kept double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  ours boolean := false;
  front record;
  this_moment timestamptz;
BEGIN
  ${oneAfterTheOther}
  this_moment := clock_timestamp();
  DELETE FROM ${at}herdless_lock_queue WHERE name = its_name AND (token = waited OR until <= this_moment);
  DELETE FROM ${at}herdless_locks WHERE name = its_name AND token = held RETURNING until > this_moment INTO ours;
  IF EXISTS (SELECT FROM ${at}herdless_locks WHERE name = its_name AND until > this_moment) THEN
    RETURN false;
  END IF;
  SELECT token, inbox INTO front FROM ${at}herdless_lock_queue WHERE name = its_name ORDER BY place LIMIT 1;
  IF front.token IS NOT NULL THEN
    UPDATE ${at}herdless_lock_queue SET until = least(until, this_moment + place_kept * interval '1 ms')
      WHERE name = its_name AND token = front.token;
    IF front.inbox <> '' THEN PERFORM pg_notify(front.inbox, front.token); END IF;
  END IF;
  RETURN coalesce(ours, false);
END $$;
`
}
