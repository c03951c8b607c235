/*
 * The permits of a source (docs/protocol.md#permits-of-a-source), as a model that spin explores completely: `npm run spec`.
 *
 * There are one Redis, one source with a limit, and 2 or 3 processes that load from it at any time. A process has one
 * report under way. As the search says, one process crashes; a report comes twice, the second time whenever it likes; a
 * report or its answer is given up, and the process goes on alone; a process stands still for longer than what it holds is
 * held; Redis forgets everything.
 *
 * Checked:
 *   1  Redis grants no more than there is room for by its rows.                                      assert in `take`
 *   2  No more than the limit runs; once a process went on alone, stood still, or was forgotten, twice the limit.  `begin`
 *   3  Process 0, which wants a permit again and again, is granted one again and again (weak fairness).  cycles
 *
 * By 3, no permit is lost for ever, and nobody starves.
 *
 * A process that wants or holds something may report at any time, since the time between reports is not modelled. So a
 * message that there is room changes nothing, and is modelled only where it is all that a waiter relies on
 * (MESSAGES_ALONE).
 *
 * The breaks, such as NO_NUMBER_CHECK, take a rule away. Each must be found out (spec/searches.mjs lists them).
 */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef LIMIT
#define LIMIT 1
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef REPEATS
#define REPEATS 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef PAUSES
#define PAUSES 0
#endif
#ifndef FORGETS
#define FORGETS 0
#endif

#if PROCESSES == 3
#define sumOf(of) (of(0) + of(1) + of(2))
#elif PROCESSES == 2
#define sumOf(of) (of(0) + of(1))
#else
#error The model is written for two or three processes.
#endif
#define nobody 255
/* What a process may hold while others may hold nothing of it: in recovery, and without Redis. */
#define shareOfAll (LIMIT / PROCESSES > 1 -> LIMIT / PROCESSES : 1)

/* ---- Redis: a row for each process ---- */

bit there[PROCESSES] = 1;
byte rowHeld[PROCESSES];
byte rowWants[PROCESSES];
/* Which others that wait have waited for longer, a bit for each. */
byte ahead[PROCESSES];
bit recovering;

/* ---- The processes ---- */

/* Loads that run, and that wait for a permit. */
byte running[PROCESSES];
byte queued[PROCESSES];
/* Something has changed that no report says. */
bit news[PROCESSES];
/* The report under way; `answered` with what it was granted. */
mtype = { idle, sent, answered }
mtype report[PROCESSES] = idle;
byte saysHeld[PROCESSES];
byte saysWants[PROCESSES];
byte granted[PROCESSES];
/* How many others wait, as the answer said last, and as the one under way says. */
byte others[PROCESSES];
byte newOthers[PROCESSES];
/* The last report was given up. */
bit away[PROCESSES];

/* A report that comes late, at most one for each, and whether Redis has taken a later one. */
bit late[PROCESSES];
bit lateIsOld[PROCESSES];
byte lateHeld[PROCESSES];
byte lateWants[PROCESSES];

/* ---- What may happen yet, and what has ---- */

byte repeats, losses, pauses, forgets;
byte crashed = nobody;
bit faulty;

/* Process 0 has begun a load; noticed by `Witness`. */
bit served;

/* Used within a step only. */
hidden byte each, waiting, before, grant, share, isNew;
hidden short room;

/* ---- The breaks ---- */

#ifdef NO_NUMBER_CHECK
#define isIgnored(p) false
#else
#define isIgnored(p) (lateIsOld[p] && there[p])
#endif
#ifdef HELD_NOT_REPORTED
#define heldOf(p) 0
#else
#define heldOf(p) running[p]
#endif
#ifdef DEAD_HOLD_FOR_EVER
#define isSilent(p) false
#else
#define isSilent(p) (crashed == p || (report[p] == idle && !mayReport(p)))
#endif
#ifdef MESSAGES_ALONE
#define mayReport(p) news[p]
#else
#define mayReport(p) (news[p] || running[p] > 0 || queued[p] > 0)
#endif
#ifdef KEPT_SHARE_ROUNDED_UP
#define keptShare(p) ((LIMIT + others[p]) / (others[p] + 1))
#else
#define keptShare(p) (LIMIT / (others[p] + 1))
#endif

#define usedBy(p) running[p]
#define heldBy(p) rowHeld[p]
#define waits(p) (rowWants[p] > 0)
#define isThere(p) there[p]
#define asks(p) (queued[p] > 0)

inline begin(p) {
  running[p]++;
  queued[p]--;
  served = served || p == 0;
  assert(sumOf(usedBy) <= (faulty -> 2 * LIMIT : LIMIT))
}

/* Without Redis a process has its share, which is one permit here. */
inline goOnAlone(p) {
  if
  :: away[p] && queued[p] > 0 && running[p] < shareOfAll -> faulty = 1; begin(p)
  :: else
  fi
}

#ifdef MESSAGES_ALONE
/* The message may be lost. */
inline tell(p) {
  if
  :: crashed != p -> news[p] = 1
  :: losses > 0 -> losses--
  :: crashed == p
  fi
}
#else
#define tell(p) skip
#endif

/* The script `permits`: what it grants is in `grant`. */
inline take(p, held, wants) {
  recovering = (sumOf(isThere) == 0 -> 1 : recovering);
  rowHeld[p] = held;
  isNew = !waits(p);
  rowWants[p] = 0;
  room = LIMIT - sumOf(heldBy);
  if
  :: recovering && shareOfAll - held < room -> room = shareOfAll - held
  :: else
  fi;
  waiting = sumOf(waits);
  share = (LIMIT + waiting) / (waiting + 1);
  before = 0;
  for (each : 0 .. PROCESSES - 1) {
    if
    :: isNew && each != p && waits(each) -> ahead[p] = ahead[p] | (1 << each)
    :: else
    fi;
    if
#ifndef NO_PLACE_SET_ASIDE
    :: each != p && waits(each) && ((ahead[p] >> each) & 1) && rowHeld[each] < share -> before++
#endif
    :: else
    fi
  }
  grant = 0;
  if
  :: wants > 0 && room > before ->
    grant = (room - before + waiting) / (waiting + 1);
    grant = (grant > wants -> wants : grant);
    if
    :: waiting > 0 && held >= share -> grant = 0
    :: waiting > 0 && held < share && grant > share - held -> grant = share - held
    :: else
    fi
  :: else
  fi;
  rowHeld[p] = held + grant;
  rowWants[p] = wants - grant;
  assert(grant == 0 || sumOf(heldBy) <= LIMIT);
  for (each : 0 .. PROCESSES - 1) {
    if
    :: each != p && (grant > 0 || rowWants[p] == 0) ->
      /* It goes to the end of the line. */
      ahead[each] = ahead[each] & (255 - (1 << p));
      ahead[p] = (rowWants[p] > 0 && waits(each) -> ahead[p] | (1 << each) : ahead[p] & (255 - (1 << each)))
    :: else
    fi
  }
  there[p] = 1;
  room = room - grant
}

#ifdef MESSAGES_ALONE
inline tellOthers(p) {
  for (each : 0 .. PROCESSES - 1) {
    if
    :: each != p && rowWants[p] > 0 && isNew && rowHeld[each] > share -> tell(each)
    :: each != p && room > 0 && !recovering && waits(each) && rowHeld[each] < share -> tell(each)
    :: else
    fi
  }
}
#else
#define tellOthers(p) skip
#endif

inline receive(p) {
  away[p] = 0;
  others[p] = newOthers[p];
  do
  :: granted[p] > 0 && queued[p] > 0 -> begin(p); granted[p]--
  :: granted[p] > 0 && queued[p] == 0 -> news[p] = 1; granted[p] = 0
  :: granted[p] == 0 -> break
  od;
  newOthers[p] = 0;
  report[p] = idle
}

/* A process reports, again and again. */
proctype Reporter(byte p) {
end:
  do
  :: atomic { report[p] == idle && crashed != p && mayReport(p) ->
      report[p] = sent;
      news[p] = 0;
      saysHeld[p] = heldOf(p);
      saysWants[p] = queued[p]
    }
  :: atomic { report[p] == sent ->
      take(p, saysHeld[p], saysWants[p]);
      granted[p] = grant;
      newOthers[p] = waiting;
      tellOthers(p);
      /* A copy of an earlier one is out of date. */
      lateIsOld[p] = late[p];
      if
      :: repeats > 0 && !late[p] ->
        repeats--;
        late[p] = 1;
        lateIsOld[p] = 1;
        lateHeld[p] = saysHeld[p];
        lateWants[p] = saysWants[p]
      :: true
      fi;
      saysHeld[p] = 0;
      saysWants[p] = 0;
      report[p] = answered
    }
  :: atomic { report[p] == answered -> receive(p) }
  od
}

/* Its loads end, one by one. */
proctype Loads(byte p) {
end:
  do
  :: atomic { running[p] > 0 ->
      running[p]--;
      if
      :: !away[p] && queued[p] > 0 && running[p] < keptShare(p) -> begin(p)
      :: news[p] = 1; goOnAlone(p)
      fi
    }
  od
}

/* Somebody wants to load. Only process 0 must. */
proctype Callers(byte p) {
end:
  do
  :: atomic { crashed != p && queued[p] < (p == 0 -> 1 : LIMIT) ->
      queued[p]++;
      news[p] = 1;
      goOnAlone(p)
    }
  od
}

inline stopWaiting(p) {
  rowWants[p] = 0;
  ahead[p] = 0;
  for (each : 0 .. PROCESSES - 1) { ahead[each] = ahead[each] & (255 - (1 << p)) }
}

inline expire(p) {
  rowHeld[p] = 0;
  stopWaiting(p)
}

/* What nobody reports any more is held no longer. */
proctype Clock(byte p) {
end:
  do
  :: atomic { isSilent(p) && (rowHeld[p] > 0 || rowWants[p] > 0) -> expire(p) }
  od
}

proctype Recovery() {
end:
  do
  :: atomic { recovering -> recovering = 0 }
  od
}

/* A report that was sent before comes now, if Redis does not know better. Nobody waits for its answer. */
proctype Network(byte p) {
end:
  do
  :: atomic { late[p] ->
      if
      :: isIgnored(p)
      :: !isIgnored(p) -> take(p, lateHeld[p], lateWants[p]); tellOthers(p)
      fi;
      late[p] = 0;
      lateIsOld[p] = 0;
      lateHeld[p] = 0;
      lateWants[p] = 0
    }
  od
}

inline choose(p) {
  if
  :: p = 0
  :: p = 1
  :: PROCESSES > 2 -> p = 2
  fi
}

inline giveUp(p) {
  if
  /* It is on its way and comes late, or never; or its answer does. */
  :: report[p] == sent && !late[p] ->
    late[p] = 1;
    lateIsOld[p] = 0;
    lateHeld[p] = saysHeld[p];
    lateWants[p] = saysWants[p]
  :: report[p] != idle
  :: report[p] == idle
  fi;
  report[p] = idle;
  saysHeld[p] = 0;
  saysWants[p] = 0;
  granted[p] = 0;
  newOthers[p] = 0
}

proctype Faults() {
  byte p;
end:
  do
  :: atomic { losses > 0 ->
      choose(p);
      if
      :: report[p] != idle && crashed != p -> losses--; giveUp(p); away[p] = 1; goOnAlone(p)
      :: else
      fi;
      p = 0
    }
  /* Its place is lost first, then what it holds. */
  :: atomic { pauses > 0 ->
      choose(p);
      if
      :: stopWaiting(p)
      :: pauses--; expire(p); faulty = 1
      fi;
      p = 0
    }
  :: atomic { forgets > 0 ->
      forgets--;
      faulty = 1;
      for (p : 0 .. PROCESSES - 1) {
        expire(p);
        there[p] = 0
      }
      recovering = 0;
      p = 0
    }
  od
}

/* Process 0 never crashes: somebody must see that the permits come back. */
proctype Crash() {
  atomic {
    crashed = PROCESSES - 1;
    giveUp(crashed);
    running[crashed] = 0;
    queued[crashed] = 0;
    news[crashed] = 0;
    away[crashed] = 0;
    others[crashed] = 0
  }
}

/* A run in which it has no more turns is one in which process 0 starves. */
proctype Witness() {
end:
  do
  :: served ->
progress:
    served = 0
  od
}

#ifdef MESSAGES_ALONE
/* Nothing happens any more. */
proctype Quiet() {
end:
  timeout -> assert(sumOf(asks) == 0)
}
#endif

/* What may happen need not. */
init {
  byte p;
  atomic {
    if
    :: repeats = REPEATS
    :: REPEATS > 0
    fi;
    if
    :: losses = LOSSES
    :: LOSSES > 0
    fi;
    pauses = PAUSES;
    forgets = FORGETS;
    if
    :: LOSSES + PAUSES + FORGETS > 0 -> run Faults()
    :: else
    fi;
    if
    :: CRASHES > 0 -> run Crash()
    :: true
    fi;
    if
    :: FORGETS > 0 -> run Recovery()
    :: else
    fi;
#ifdef MESSAGES_ALONE
    run Quiet();
#endif
    run Witness();
    for (p : 0 .. PROCESSES - 1) {
      run Reporter(p);
      run Loads(p);
      run Callers(p);
      if
      :: CRASHES + LOSSES > 0 -> run Clock(p)
      :: else
      fi;
      if
      :: REPEATS + LOSSES > 0 -> run Network(p)
      :: else
      fi
    }
    p = 0
  }
}
