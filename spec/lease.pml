/*
 * The lease protocol of docs/protocol.md, as a model that spin explores completely: `npm run spec`.
 *
 * There are one Redis, one key and 2 or 3 processes with two callers each, who ask at any time. The second of a process
 * may join the first, or the first the second. Somebody invalidates the key once. Messages are lost. As the search says,
 * one process crashes, one lease or value expires before its time, one reply comes too late or not at all, Redis answers
 * the end of a load or a release with an error, or it goes back to what it was before.
 *
 * Checked:
 *   1  Redis grants a lease only when nobody holds one; without a fault the key is loaded once.      assert in `grant`
 *   2  A load that lost its lease writes nothing.                                                    assert in `fill`
 *   3  Who asks after the invalidation is given no value whose load began before it.                 assert in `answer`
 *   4  Everybody whose process lives is answered: no run ends before that, and no run is endless.    end states, cycles
 *   5  A lease whose process lives, and under which nothing loads, does not stay.                   in `Redis`, cycles
 *
 * When Redis has gone back, 1 to 3 are not checked any more: it may have forgotten a lease or an invalidation.
 * Unless a fault ends it, the lease of a process that lives never ends by itself: so by 4 nobody has to wait for its ttl.
 *
 * What happens in one script of Redis is one step, and so is what a process does without waiting. A script and its reply
 * are one step where nothing that comes between can make a difference, or can make one only in favour of the protocol.
 * With GAPS fewer steps are taken together: what a caller reads, whether it joins, what its claim finds, when the load
 * begins, when it ends and when the fill comes are six.
 *
 * With SOFT the invalidation leaves the value, and makes it stale. Here nobody has a grace: a stale value counts as missing,
 * so that 3 holds as it does for a value that is gone. What is served within a grace is no part of the model.
 *
 * A value is `new` if its load began after the invalidation, else it is `old`: nothing else is known of it.
 *
 * The breaks, such as NO_TOKEN_CHECK_IN_FILL, take a rule away. Each must be found out (spec/searches.mjs lists them).
 */

#ifndef PROCESSES
#define PROCESSES 3
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef EXPIRIES
#define EXPIRIES 0
#endif
/* At most 1: what was given up is remembered once for each caller. */
#ifndef SLIPS
#define SLIPS 0
#endif
/* How often Redis answers the end of a load, or a release, with an error. */
#ifndef REFUSALS
#define REFUSALS 0
#endif
/* At most 1: one snapshot is remembered. */
#ifndef REVERTS
#define REVERTS 0
#endif

/* Callers 2p and 2p + 1 are those of process p. */
#define CALLERS (2 * PROCESSES)
#if PROCESSES == 3
#define ofAnyCaller(is) (is(0) || is(1) || is(2) || is(3) || is(4) || is(5))
#define ofAnyProcess(is) (is(0) || is(1) || is(2))
#elif PROCESSES == 2
#define ofAnyCaller(is) (is(0) || is(1) || is(2) || is(3))
#define ofAnyProcess(is) (is(0) || is(1))
#else
#error The model is written for two or three processes.
#endif
#define process(c) ((c) / 2)
#define fellow(c) ((c) ^ 1)
#define nobody 255

/* ---- Redis ---- */

/* What a value, a message or a reply says: `again` only a message, `refused` only the reply to a fill. */
mtype = { nothing, old, new, again, refused }

/* The token in the lease; 0 when there is no lease. */
byte lease;
/* The process that would renew it. */
byte holder = nobody;
/* The inboxes noted in it, a bit for each process. */
byte enlisted;
mtype value = nothing;
/* The token of the load that wrote the value. */
byte writer;
#ifdef SOFT
/* The value is stale because of the invalidation. */
bit softened;
#define isFresh (value != nothing && !softened)
#else
#define isFresh (value != nothing)
#endif

/* The snapshot to which it will go back; nothing before it is taken, and when Redis has gone back. */
byte oldLease;
byte oldHolder = nobody;
byte oldEnlisted;
mtype oldValue = nothing;
byte oldWriter;

/* ---- The callers, each with the flight that it started, if it did ---- */

mtype = {
  absent, reading, missed, asking, /* It has not called yet; it reads; it found nothing; its claim is sent. */
  joined, waiting, /* For the flight of its fellow; for another process's load. */
  found, /* A value is on its way: in the reply to a claim, or to the read that a message called for. */
  resending, granted, /* The reply to its claim was lost; is on its way, and brings the lease. */
  askingAgain, /* It has given back a lease of its own process, and claims again. */
  loading, ending, filled, /* Its loader runs; has ended; the reply to the fill is on its way. */
  landing, alone, answered /* Its flight is over; it loads without a lease; it has its answer. */
}
mtype state[CALLERS] = absent;
/* The token of the lease that it holds, or waits for. */
byte token[CALLERS];
/* What it was told, or has loaded. */
mtype got[CALLERS] = nothing;
/* Whether the fellow had asked by the moment as of which the answer of this flight is current (src/core/time/clock.ts). */
bit good[CALLERS];
/* Whether the fellow had asked when the load began. */
bit goodFromBegin[CALLERS];
/* Its process has invalidated the key: nobody joins this flight any more. */
bit detached[CALLERS];

/*
 * What it has sent and then given up, and Redis may run yet: a fill if there is a value, else a release. It comes in the
 * end, since a release that is not answered is sent again.
 */
byte lateToken[CALLERS];
mtype lateValue[CALLERS] = nothing;

/* ---- The processes ---- */

/* The tokens whose release was answered with an error, a bit for each: it will be sent again. */
byte owed[PROCESSES];

/* ---- What may happen yet, and what has ---- */

byte expiries, slips, refusals;
/* Redis will go back. */
bit mayForget;
byte crashed = nobody;
bit invalidated;
/* It went back, and the holder of the lease that came back does not notice. */
bit unnoticed;

/* ---- What only the properties know ---- */

/* The token whose lease was granted and has not been given back since, nor expired, nor been voided. */
byte lawful;
/* Who asked after the invalidation. */
bit late[CALLERS];
bit faulty, loadedOnce;
/* Redis went back. */
bit forgot;

/* Used within a step only. */
hidden byte each, told;

#define now (invalidated -> new : old)
#define isValue(word) (word == old || word == new)
#define hasAsked(c) (state[c] != absent && state[c] != answered)

/* ---- A lease without a load ---- */

/* As its process knows it: the lease was granted to this caller, and the end of its load has not been answered. */
#define loadsUnderIt(c) (token[c] == lease && (state[c] == resending || state[c] == granted || state[c] == loading || \
  state[c] == ending || state[c] == filled))
#define owes(p, by) ((owed[p] >> by) & 1)
#define owesIt(p) owes(p, lease)
#define endsItLate(c) (lateToken[c] == lease)
/* Its process lives, nothing loads under it, and no release of it is on its way or will be sent again. */
#define isGhost (lease != 0 && holder != crashed && !ofAnyCaller(loadsUnderIt) && !ofAnyProcess(owesIt) && \
  !ofAnyCaller(endsItLate))

/* Who waits for it asks again and again, and each time Redis tells its holder: one of these messages arrives. */
#define asksHolder(c) (state[c] == waiting && token[c] == lease && isTold(c))

/* ---- The breaks ---- */

#ifdef CLAIM_IGNORES_VALUE
#define isThere false
#else
#define isThere isFresh
#endif
#ifdef AWAITED_THOUGH_SOFTENED
#define isOutcome (value != nothing)
#else
#define isOutcome isFresh
#endif
#ifdef CLAIM_IGNORES_LEASE
#define isFree true
#else
#define isFree (lease == 0)
#endif
#ifdef NO_TOKEN_CHECK_IN_FILL
#define mayFill(by) true
#else
#define mayFill(by) (lease == by)
#endif
#ifdef NO_TOKEN_CHECK_IN_RELEASE
#define mayRelease(by) true
#else
#define mayRelease(by) (lease == by)
#endif
#ifdef INVALIDATE_LEAVES_LEASE
#define isVoided false
#else
#define isVoided (lease != 0)
#endif
#ifdef LEASE_NEVER_EXPIRES
#define isForsaken false
#else
#define isForsaken (lease != 0 && holder == crashed)
#endif
#ifdef CLAIM_COUNTS_FROM_REPLY
#define goodInClaim(c) hasAsked(fellow(c))
#else
#define goodInClaim(c) good[c]
#endif
#ifdef ANSWER_JOINED_WAITER
#define goodInWait(c) true
#else
#define goodInWait(c) good[c]
#endif
#ifdef JOIN_WHILE_FILLING
#define alsoJoinable(c) state[c] == filled
#define goodInFill(c) hasAsked(fellow(c))
#else
#define alsoJoinable(c) false
#define goodInFill(c) good[c]
#endif
#ifdef UNKNOWN_FILL_COUNTS_FROM_END
#define goodIfUnknown(c) hasAsked(fellow(c))
#else
#define goodIfUnknown(c) goodFromBegin[c]
#endif
#ifdef LATE_LOAD_FOR_ALL
#define goodInLateLoad(c) hasAsked(fellow(c))
#else
#define goodInLateLoad(c) goodFromBegin[c]
#endif
#ifdef ANSWER_REFUSED
#define alsoIfRefused true
#else
#define alsoIfRefused false
#endif
#ifdef CLAIM_NOT_IDEMPOTENT
#define isKnownAgain false
#else
#define isKnownAgain true
#endif
#ifdef WAITERS_NEVER_REASK
#define asksAgain(c) got[c] == again
#elif defined(ASK_AT_ANY_TIME)
#define asksAgain(c) true
#else
/* Asking again while that lease is held makes an answer good for more callers, and changes nothing else. */
#define asksAgain(c) token[c] == 0
#endif
#ifdef RELEASE_TRIED_ONCE
#define mayOwe(p) false
#else
#define mayOwe(p) (p != crashed)
#endif
#ifdef ENDED_IS_FORGOTTEN
#define isOwnGhost(c) false
#define isTold(c) (process(c) != holder)
#elif defined(HOLDER_IS_NOT_ASKED)
#define isOwnGhost(c) (isGhost && process(c) == holder)
#define isTold(c) (process(c) == holder)
#else
#define isOwnGhost(c) (isGhost && process(c) == holder)
#define isTold(c) true
#endif
#ifdef GIVES_BACK_WHILE_LOADING
#define isOver (lease != 0 && holder != crashed)
#else
#define isOver isGhost
#endif

/* ---- The scripts ---- */

inline note(p) {
  if
  :: (enlisted >> p) & 1 -> told = told | (1 << p)
  :: true
  fi
}

/* Each message arrives, or is lost. Who is not told waits for a token that nobody will ever name again: for 0. */
inline endLease(ended, word) {
  note(0);
  note(1);
#if PROCESSES == 3
  note(2);
#endif
  d_step {
    for (each : 0 .. CALLERS - 1) {
      if
      :: state[each] == waiting && token[each] == ended ->
        token[each] = 0;
        got[each] = ((told >> process(each)) & 1 -> word : nothing)
      :: else
      fi
    }
    told = 0;
    lease = 0;
    holder = nobody;
    enlisted = 0
  }
}

/* A token that nobody remembers is as good as one that never was, and keeps the states few. */
inline grant(p) {
  d_step {
    assert(lawful == 0);
    assert(faulty || !loadedOnce);
    loadedOnce = !faulty;
#ifdef TOKEN_PER_PROCESS
    lease = p + 1;
#else
    lease = 1;
    each = 0;
    do
    :: each == CALLERS -> break
    :: each < CALLERS && (token[each] == lease || lateToken[each] == lease || owes(process(each), lease) ||
      writer == lease || oldLease == lease || oldWriter == lease) -> lease++; each = 0
    :: else -> each++
    od;
    /* For more there is no room in `owed`. */
    assert(lease < 8);
#endif
    lawful = (forgot -> 0 : lease);
    holder = p
  }
}

inline fill(by, what, reply) {
  if
  :: mayFill(by) ->
    assert(forgot || lawful == by);
    lawful = 0;
    value = what;
    writer = (slips > 0 -> by : 0);
#ifdef SOFT
    softened = 0;
#endif
    endLease(by, what);
    reply = what
  /* It was sent twice, and the first has come. */
  :: !mayFill(by) -> reply = (writer == by -> what : refused)
  fi
}

inline release(by) {
  if
  :: mayRelease(by) ->
    lawful = (lawful == by -> 0 : lawful);
    endLease(lease, again)
  :: else
  fi
}

/* Redis answers with an error, and does nothing. */
inline refuse() {
  refusals > 0;
  refusals--;
  faulty = 1
}

inline owe(p, by) {
  if
  :: mayOwe(p) -> owed[p] = owed[p] | (1 << by)
  :: else
  fi
}

inline giveBack(p, by) {
  if
  :: release(by)
  :: refuse(); owe(p, by)
  fi
}

inline overwrite() {
#ifdef SOFT
  /* The token stays: a fill that is sent twice is accepted again, and changes nothing. */
  softened = value != nothing;
#else
  value = nothing;
  writer = 0;
#endif
  lawful = 0;
  if
  :: isVoided -> endLease(lease, again)
  :: else
  fi
}

/* ---- Answers ---- */

inline forget(c, next) {
  state[c] = next;
  token[c] = 0;
  got[c] = nothing;
  good[c] = 0;
  goodFromBegin[c] = 0;
  detached[c] = 0
}

inline answer(c, what) {
  assert(!(late[c] && what == old));
  late[c] = 0;
  forget(c, answered);
  /* Nobody is left to whom these could matter. */
  good[fellow(c)] = 0;
  goodFromBegin[fellow(c)] = 0
}

/* The fellow who has joined is given the value if it is current enough for him; else he asks again. */
inline land(c, what, isGood) {
  if
  :: state[fellow(c)] == joined && (isGood) -> answer(fellow(c), what)
  :: state[fellow(c)] == joined && !(isGood) -> forget(fellow(c), reading)
  :: else
  fi
}

inline succeed(c, isGood) {
  good[c] = isGood;
  state[c] = landing
}

/* The load is void: the callers of this flight ask again. */
inline startAnew(c) {
  land(c, nothing, false);
  forget(c, reading)
}

/* ---- Questions ---- */

/* A reply comes too late or not at all, or Redis cannot be heard in time. */
inline slip() {
  slips > 0;
  slips--;
  faulty = 1;
  writer = 0
}

inline read(c) {
  if
  :: isFresh -> got[c] = value; succeed(c, false)
  :: !isFresh -> state[c] = missed
  :: slip(); state[c] = alone
  fi
}

#define joinable(c) (!detached[c] && (state[c] == asking || state[c] == found || state[c] == waiting || \
  state[c] == resending || state[c] == askingAgain || state[c] == granted || state[c] == loading || alsoJoinable(c)))

inline seek(c) {
  if
  :: joinable(fellow(c)) -> state[c] = joined
  :: else -> ask(c)
  fi
}

inline ask(c) {
  state[c] = asking;
  token[c] = 0;
  got[c] = nothing;
  good[c] = hasAsked(fellow(c))
}

inline enlist(c) {
  state[c] = waiting;
  token[c] = lease;
  enlisted = enlisted | (1 << process(c))
}

inline claim(c) {
  if
  :: isThere -> state[c] = found; got[c] = value; token[c] = 0
  :: !isThere && isFree ->
    token[c] = 0;
    grant(process(c));
    token[c] = lease;
    if
    :: true -> state[c] = granted
    /* The reply is lost, and the client sends the claim again. */
    :: slip(); state[c] = resending
    /* Nobody waits for the reply any more. */
    :: slip(); lateToken[c] = lease; state[c] = alone
    fi
  :: !isThere && !isFree && !isOwnGhost(c) -> enlist(c)
  :: !isThere && !isFree && isOwnGhost(c) -> release(lease); state[c] = askingAgain
  :: !isThere && !isFree && isOwnGhost(c) && refusals > 0 -> refuse(); owe(process(c), lease); enlist(c)
  :: slip(); state[c] = alone
  fi
}

inline begin(c) {
  state[c] = loading;
  got[c] = now;
  goodFromBegin[c] = (slips > 0 || refusals > 0) && hasAsked(fellow(c));
  good[c] = 0
}

#ifdef GAPS
#define at(here) false
#else
#define at(here) state[c] == here
#endif

inline finish(c) {
  if
  :: fill(token[c], got[c], reply);
#ifdef ANSWER_BEFORE_FILL_ACCEPTED
    succeed(c, good[c]);
#else
    state[c] = filled;
    got[c] = (reply == refused && alsoIfRefused -> got[c] : reply);
    if
    /* It will not be sent twice any more. */
    :: slips == 0 ->
      goodFromBegin[c] = 0;
      writer = 0;
      token[c] = (mayForget -> token[c] : 0)
    :: else
    fi;
#endif
    reply = 0
  /* The fill and the release after it. */
  :: refuse(); owe(process(c), token[c]); succeed(c, goodIfUnknown(c))
  fi
}

/* Without waiting for anybody. */
inline goOn(c) {
  do
  :: at(reading) -> read(c)
  :: at(missed) -> seek(c)
  :: at(asking) -> claim(c)
  :: at(granted) -> begin(c)
  :: at(ending) -> finish(c)
  :: state[c] == landing -> d_step { land(c, got[c], good[c]); answer(c, got[c]) }
  :: state[c] == alone -> d_step { land(c, now, true); answer(c, now) }
  :: else -> break
  od
}

/* Which process is which makes no difference, nor which caller of two: they are numbered in the order in which they ask. */
#define isNext(c) (c == 0 || ((c & 1) && state[c - 1] != absent) || (!(c & 1) && state[c - 2] != absent))

/* One call. */
proctype Caller(byte c) {
  mtype reply;
  do
  :: atomic {
      if
      :: state[c] == absent && isNext(c) ->
        late[c] = invalidated && !forgot;
        state[c] = (joinable(fellow(c)) -> joined : reading)
#ifdef SOME_STAY_AWAY
      /* Otherwise those who are stuck could be saved by whoever comes later. */
      :: state[c] == absent && isNext(c) -> state[c] = answered
#endif
      :: state[c] == reading -> read(c)
      :: state[c] == missed -> seek(c)
      :: state[c] == asking -> claim(c)

      :: state[c] == found -> succeed(c, goodInClaim(c))
      :: state[c] == waiting && isValue(got[c]) -> succeed(c, goodInWait(c))
      /* The value was too large for the message. */
      :: state[c] == waiting && isValue(got[c]) && isOutcome ->
        state[c] = found;
        got[c] = value;
        good[c] = hasAsked(fellow(c))
      :: state[c] == waiting && asksAgain(c) -> ask(c)

      :: state[c] == resending && lease == token[c] && isKnownAgain -> state[c] = granted
      :: state[c] == resending && (lease != token[c] || !isKnownAgain) -> state[c] = asking
      :: state[c] == askingAgain -> state[c] = asking
      :: state[c] == granted -> begin(c)

      /* It is told that its lease is lost, or learns it when it would renew it. */
      :: state[c] == loading && lease != token[c] -> startAnew(c)
      /* Redis cannot be heard, and the lease could have run out. The load is void, or goes on for those who can have it. */
      :: state[c] == loading && slips > 0 ->
        slip();
        lateToken[c] = token[c];
        if
        :: startAnew(c)
        :: succeed(c, goodInLateLoad(c))
        fi
      /* Nobody joins from now on. */
      :: state[c] == loading -> state[c] = ending; good[c] = hasAsked(fellow(c))
      :: state[c] == ending -> finish(c)
      /* The fill comes late: nobody knows whether it will be accepted. */
      :: state[c] == loading && slips > 0 ->
        slip();
        lateToken[c] = token[c];
        lateValue[c] = got[c];
        succeed(c, goodIfUnknown(c))

      :: state[c] == filled && isValue(got[c]) -> succeed(c, goodInFill(c))
      :: state[c] == filled && got[c] == refused -> startAnew(c)
      /* The reply to the fill is lost: for good, or the client sends the fill again. */
      :: state[c] == filled && isValue(got[c]) && slips > 0 -> slip(); succeed(c, goodIfUnknown(c))
      :: state[c] == filled && isValue(got[c]) && slips > 0 ->
        slips--;
        faulty = 1;
        state[c] = ending
      fi;
      goOn(c)
    }
  :: state[c] == answered -> break
  od
}

/* ---- What comes from outside ---- */

/* What has a time to live ends, and what was given up comes late. */
proctype Redis() {
  byte c;
  mtype reply;
end:
  do
  :: atomic {
      if
      :: isForsaken -> lawful = 0
      /* The holder is slow, stopped or cut off; or its inbox was silent, and its lease is taken over. */
      :: lease != 0 && expiries > 0 -> expiries--; faulty = 1; lawful = 0
      fi;
      endLease(lease, nothing)
    }
  :: atomic {
      value != nothing && expiries > 0 ->
      expiries--;
      faulty = 1;
      value = nothing;
#ifdef SOFT
      softened = 0;
#endif
      writer = 0
    }
  :: atomic {
      if
      :: lateToken[0] != 0 -> c = 0
      :: lateToken[1] != 0 -> c = 1
      :: lateToken[2] != 0 -> c = 2
      :: lateToken[3] != 0 -> c = 3
#if PROCESSES == 3
      :: lateToken[4] != 0 -> c = 4
      :: lateToken[5] != 0 -> c = 5
#endif
      fi;
      if
      :: isValue(lateValue[c]) -> fill(lateToken[c], lateValue[c], reply)
      /* Also if a fill was lost or refused: it is followed by a release. */
      :: giveBack(process(c), lateToken[c])
      fi;
      lateToken[c] = 0;
      lateValue[c] = nothing;
      reply = 0;
      c = 0
    }
  /* Nothing happens any more. A lease that came back unnoticed is left to those who ask. */
  :: timeout && !ofAnyCaller(hasAsked) && isGhost && !unnoticed -> assert(lease == 0)
  od
}

/* What the processes do about leases without a load, besides what their claims do. */
proctype Keeper() {
  byte p;
end:
  do
  /* All releases that a process owes are sent again. Those of other leases than the one that there is do nothing. */
  :: atomic {
      if
      :: owed[0] != 0 -> p = 0
      :: owed[1] != 0 -> p = 1
#if PROCESSES == 3
      :: owed[2] != 0 -> p = 2
#endif
      fi;
      if
      :: refuse()
      :: owes(p, lease) -> release(lease); owed[p] = 0
      :: !owes(p, lease) -> owed[p] = 0
      fi;
      p = 0
    }
  /* The holder is asked. */
  :: atomic { isOver && ofAnyCaller(asksHolder) -> giveBack(holder, lease) }
  od
}

inline takeSnapshot() {
  oldLease = lease;
  oldHolder = holder;
  oldEnlisted = enlisted;
  oldValue = value;
  oldWriter = writer
}

inline goBack() {
  lease = oldLease;
  holder = oldHolder;
  enlisted = oldEnlisted;
  value = oldValue;
  writer = oldWriter;
  oldLease = 0;
  oldHolder = nobody;
  oldEnlisted = 0;
  oldValue = nothing;
  oldWriter = 0
}

#define isFilling(c) (process(c) == holder && state[c] == filled)

/* A restart from a snapshot, or a replica becomes the master that did not know the latest. */
proctype Failover() {
  d_step { takeSnapshot() }
  atomic {
    d_step {
      goBack();
      mayForget = 0;
      forgot = 1;
      faulty = 1;
      loadedOnce = 0;
      lawful = 0;
      for (each : 0 .. CALLERS - 1) {
        late[each] = 0;
        /* Nobody will be told of what is gone. */
        token[each] = (state[each] == waiting && token[each] != lease -> 0 : token[each])
      }
    }
    if
    :: unnoticed = 1
    :: true
    fi
  }
  if
  :: unnoticed
  /* The holder is connected anew: by then all replies of the server before have come, or never will. */
  :: atomic {
      !unnoticed && !ofAnyCaller(isFilling);
      if
      :: isGhost -> giveBack(holder, lease)
      :: else
      fi
    }
  fi
}

inline choose(p) {
  if
  :: p = 0
  :: p = 1
  :: PROCESSES > 2 -> p = 2
  fi
}

/*
 * One of the processes invalidates the key. It counts from the moment when Redis has done it: the reply can only come
 * later, and nothing happens when it comes.
 */
proctype Invalidation() {
  byte p;
  atomic {
    choose(p);
    detached[2 * p] = joinable(2 * p);
    detached[2 * p + 1] = joinable(2 * p + 1);
    p = 0
#ifdef GAPS
  }
  atomic {
#endif
    invalidated = 1;
    loadedOnce = 0;
    overwrite()
  }
}

/* A fill that was sent before may still arrive. */
inline die(c) {
  if
  :: (state[c] == loading || state[c] == ending) && lease == token[c] -> lateToken[c] = token[c]; lateValue[c] = got[c]
  :: true
  fi;
  late[c] = 0;
  forget(c, answered)
}

proctype Crash() {
  atomic {
    choose(crashed);
    faulty = 1;
    loadedOnce = 0;
    die(2 * crashed);
    die(2 * crashed + 1);
    owed[crashed] = 0
  }
}

/* What may happen need not: otherwise a run that is stuck would be saved by it. */
init {
  byte c;
  atomic {
    if
    :: run Invalidation()
    :: true
    fi;
    if
    :: CRASHES > 0 -> run Crash()
    :: true
    fi;
    if
    :: EXPIRIES > 0 -> expiries = EXPIRIES
    :: true
    fi;
    if
    :: SLIPS > 0 -> slips = SLIPS
    :: true
    fi;
    if
    :: REFUSALS > 0 -> refusals = REFUSALS
    :: true
    fi;
    if
    :: REVERTS > 0 -> mayForget = 1; run Failover()
    :: true
    fi;
    if
    :: REFUSALS + REVERTS > 0 -> run Keeper()
    :: else
    fi;
    run Redis();
    for (c : 0 .. CALLERS - 1) {
      run Caller(c)
    }
    c = 0
  }
}
