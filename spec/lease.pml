/*
 * The lease protocol of docs/protocol.md, as a model that spin explores completely: `npm run spec`.
 *
 * There are one Redis, one key and 2 or 3 processes with two callers each, who ask at any time. The second of a process
 * may join the first, or the first the second. Somebody invalidates the key once. Messages are lost. As the search says,
 * one process crashes, one lease or value expires before its time, one reply comes too late or not at all.
 *
 * Checked:
 *   1  Redis grants a lease only when nobody holds one; without a fault the key is loaded once.      assert in `grant`
 *   2  A load that lost its lease writes nothing.                                                    assert in `fill`
 *   3  Who asks after the invalidation is given no value whose load began before it.                 assert in `answer`
 *   4  Everybody whose process lives is answered: no run ends before that, and no run is endless.    end states, cycles
 *
 * What happens in one script of Redis is one step, and so is what a process does without waiting. A script and its reply
 * are one step where nothing that comes between can make a difference, or can make one only in favour of the protocol.
 * With GAPS fewer steps are taken together: what a caller reads, whether it joins, and what its claim finds are three.
 *
 * A value is `new` if its load began after the invalidation, else it is `old`: nothing else is known of it.
 *
 * The breaks, such as NO_TOKEN_CHECK_IN_FILL, take a rule away. Each must be found out (scripts/spec.mjs lists them).
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
#ifndef SLIPS
#define SLIPS 0
#endif

/* Callers 2p and 2p + 1 are those of process p. */
#define process(c) ((c) / 2)
#define fellow(c) ((c) ^ 1)
#define nobody 255

mtype = {
  /* What a caller is doing. The last but one: its load is over, and the reply to its fill is on the way. */
  absent, reading, missed, joined, found, waiting, granted, resending, loading, filled, answered
}
mtype = {
  /* What a value, a message or a reply says. `refused` is a fill's, `again` a message's. */
  nothing, old, new, again, refused
}

/* ---- Redis ---- */

/* The token in the lease; 0 when there is no lease. */
byte lease;
/* The process that would renew it. */
byte holder = nobody;
/* The inboxes noted in the lease, a bit for each process. */
byte enlisted;
mtype value = nothing;
/* The token of the load that wrote the value. */
byte writer;

/* ---- The processes ---- */

mtype state[2 * PROCESSES] = absent;
/* The token of the lease that a caller's flight holds, or waits for. */
byte token[2 * PROCESSES];
/* What it was told, or has loaded. */
mtype got[2 * PROCESSES] = nothing;
/* An invalidation by the own process: nobody joins this flight any more. */
bit detached[2 * PROCESSES];
/* Whether the fellow had asked by the moment as of which the answer of this flight is current (src/core/moment.ts). */
bit good[2 * PROCESSES];
/* Whether it had asked when the load began. */
bit goodFromBegin[2 * PROCESSES];

/* What a caller has sent and given up, and Redis may yet run: a fill if there is a value, else a release. */
byte lateToken[2 * PROCESSES];
mtype lateValue[2 * PROCESSES] = nothing;

/* ---- What may yet happen, and what has ---- */

byte expiries, slips;
byte crashed = nobody;
bit invalidated;

/* ---- What only the properties know ---- */

/* The token whose lease was granted and has neither been given back, nor expired, nor been voided. */
byte lawful;
/* Who asked after the invalidation. */
bit late[2 * PROCESSES];
bit faulty, loadedOnce;

#define now (invalidated -> new : old)
#define isValue(word) (word == old || word == new)
#define hasAsked(c) (state[c] != absent && state[c] != answered)
#ifdef JOIN_WHILE_FILLING
#define alsoJoinable(c) state[c] == filled
#else
#define alsoJoinable(c) false
#endif
#define joinable(c) (!detached[c] && (state[c] == found || state[c] == waiting || state[c] == granted || \
  state[c] == resending || state[c] == loading || alsoJoinable(c)))

/* ---- Messages, and the end of a lease ---- */

inline hear(c, ended, word) {
  if
  :: state[c] == waiting && token[c] == ended -> token[c] = 0; got[c] = word
  :: else
  fi
}

/* The message reaches the process, or is lost. Who is not told waits for a token that nobody will ever name again: 0. */
inline tell(p, ended, word) {
  if
  :: (enlisted >> p) & 1 -> hear(2 * p, ended, word); hear(2 * p + 1, ended, word)
  :: true -> hear(2 * p, ended, nothing); hear(2 * p + 1, ended, nothing)
  fi
}

inline endLease(ended, word) {
  tell(0, ended, word);
  tell(1, ended, word);
#if PROCESSES > 2
  tell(2, ended, word);
#endif
  lease = 0;
  holder = nobody;
  enlisted = 0
}

/* ---- The scripts ---- */

#define names(c) (token[c] == lease || lateToken[c] == lease)
#if PROCESSES > 2
#define isNamed (names(0) || names(1) || names(2) || names(3) || names(4) || names(5) || writer == lease)
#else
#define isNamed (names(0) || names(1) || names(2) || names(3) || writer == lease)
#endif

/* A token that nobody knows any more is as good as one that never was, and keeps the states few. */
inline grant(p) {
  d_step {
    assert(lawful == 0);
    assert(faulty || !loadedOnce);
    loadedOnce = !faulty;
    lease = 1;
    do
    :: isNamed -> lease++
    :: else -> break
    od;
    lawful = lease;
    holder = p
  }
}

inline fill(by, what, reply) {
  if
#ifdef NO_TOKEN_CHECK_IN_FILL
  :: true ->
#else
  :: lease == by ->
#endif
    assert(lawful == by);
    lawful = 0;
    value = what;
    writer = (slips > 0 -> by : 0);
    endLease(by, what);
    reply = what
#ifndef NO_TOKEN_CHECK_IN_FILL
  :: lease != by -> reply = (writer == by -> what : refused)
#endif
  fi
}

inline release(by) {
  if
#ifdef NO_TOKEN_CHECK_IN_RELEASE
  :: true -> endLease(lease, again)
#else
  :: lease == by -> lawful = 0; endLease(by, again)
  :: else
#endif
  fi
}

inline overwrite() {
  value = nothing;
  writer = 0;
  invalidated = 1;
  faulty = 1;
  loadedOnce = 0;
  lawful = 0;
#ifndef INVALIDATE_LEAVES_LEASE
  if
  :: lease != 0 -> endLease(lease, again)
  :: else
  fi
#endif
}

/* ---- Answers ---- */

inline forget(c, next) {
  state[c] = next;
  token[c] = 0;
  got[c] = nothing;
  detached[c] = 0;
  good[c] = 0;
  goodFromBegin[c] = 0
}

inline answer(c, what) {
  d_step {
    assert(!(late[c] && what == old));
    late[c] = 0;
    forget(c, answered);
    /* Nobody is left to whom this could matter. */
    good[fellow(c)] = 0;
    goodFromBegin[fellow(c)] = 0
  }
}

/* The flight of a caller is over: its value is for the fellow who has joined, if it is current enough. */
inline land(c, what, isGood) {
  if
  :: state[fellow(c)] == joined && (isGood) -> answer(fellow(c), what)
  :: state[fellow(c)] == joined && !(isGood) -> forget(fellow(c), reading)
  :: else
  fi
}

inline succeed(c, isGood) {
  land(c, got[c], isGood);
  answer(c, got[c])
}

/* The store is away: who waits loads without a lease, from now on. */
inline loadAlone(c) {
  land(c, now, true);
  answer(c, now)
}

/* ---- Questions ---- */

/* A reply comes too late, or not at all, or a lease cannot be relied on any more. */
inline slip() {
  slips > 0;
  slips--;
  faulty = 1;
  writer = 0
}

inline begin(c) {
  state[c] = loading;
  got[c] = now;
  goodFromBegin[c] = slips > 0 && hasAsked(fellow(c));
  good[c] = 0
}

#ifdef GAPS
#define learn(c) state[c] = granted
#else
#define learn(c) begin(c)
#endif

#ifdef CLAIM_IGNORES_LEASE
#define isFree true
#else
#define isFree lease == 0
#endif
#ifdef CLAIM_IGNORES_VALUE
#define isThere false
#else
#define isThere value != nothing
#endif

/* The script `claim`, and what its reply leads to. */
inline claim(c) {
  if
  :: isThere -> state[c] = found; token[c] = 0; got[c] = value
  :: !(isThere) && isFree ->
    token[c] = 0;
    grant(process(c));
    token[c] = lease;
    if
    :: true -> learn(c)
    /* The reply is lost, and the client sends the claim again. */
    :: slip(); state[c] = resending
    /* Nobody waits for the reply any more. */
    :: slip(); lateToken[c] = lease; loadAlone(c)
    fi
  :: !(isThere) && !(isFree) ->
    state[c] = waiting;
    token[c] = lease;
    got[c] = nothing;
    enlisted = enlisted | (1 << process(c))
  :: slip(); loadAlone(c)
  fi
}

inline ask(c) {
  good[c] = hasAsked(fellow(c));
  claim(c)
}

inline seek(c) {
  if
  :: joinable(fellow(c)) -> state[c] = joined
  :: else -> ask(c)
  fi
}

inline read(c) {
  if
  :: value != nothing -> answer(c, value)
  :: else ->
#ifdef GAPS
    state[c] = missed
#else
    seek(c)
#endif
  fi
}

/* The load is void: the callers of this flight ask again. */
inline startAnew(c) {
  land(c, nothing, false);
  forget(c, reading);
#ifndef GAPS
  read(c)
#endif
}

/* One call. Which process is which makes no difference, nor which caller of two: they are numbered as they ask. */
#define isNext(c) (c == 0 || ((c & 1) && state[c - 1] != absent) || (!(c & 1) && state[c - 2] != absent))

#ifdef ANSWER_JOINED_WAITER
#define goodInWait(c) true
#else
#define goodInWait(c) good[c]
#endif
#ifdef CLAIM_COUNTS_FROM_REPLY
#define goodInClaim(c) hasAsked(fellow(c))
#else
#define goodInClaim(c) good[c]
#endif
#ifdef JOIN_WHILE_FILLING
#define goodInFill(c) hasAsked(fellow(c))
#else
#define goodInFill(c) good[c]
#endif
#ifdef UNKNOWN_FILL_COUNTS_FROM_END
#define goodIfUnknown(c) hasAsked(fellow(c))
#else
#define goodIfUnknown(c) goodFromBegin[c]
#endif
#ifdef WAITERS_NEVER_REASK
#define asksAgain(c) got[c] == again
#elif defined(ASK_AT_ANY_TIME)
#define asksAgain(c) true
#else
/* Asking again while the lease is still held changes nothing: who waits is enlisted already, and stays so. */
#define asksAgain(c) token[c] == 0
#endif

proctype Caller(byte c) {
  mtype reply;
  do
  :: atomic { state[c] == absent && isNext(c) ->
      late[c] = invalidated;
      if
      :: joinable(fellow(c)) -> state[c] = joined
      :: else ->
#ifdef GAPS
        state[c] = reading
#else
        read(c)
#endif
      fi
    }
  :: atomic { state[c] == reading -> read(c) }
  :: atomic { state[c] == missed -> seek(c) }

  /* A value is on its way: the reply to a claim, or to the read that a message called for. */
  :: atomic { state[c] == found -> succeed(c, goodInClaim(c)) }

  /* Another process loads. Its message brings the value, or says that it can be read. */
  :: atomic { state[c] == waiting && isValue(got[c]) -> succeed(c, goodInWait(c)) }
  :: atomic { state[c] == waiting && isValue(got[c]) && value != nothing ->
      good[c] = hasAsked(fellow(c));
      state[c] = found;
      got[c] = value
    }
  :: atomic { state[c] == waiting && asksAgain(c) -> ask(c) }

  :: atomic { state[c] == resending ->
      if
      :: lease == token[c] -> learn(c)
      :: else -> claim(c)
      fi
    }
  :: atomic { state[c] == granted -> begin(c) }

  /* The holder is told that its lease is lost, or finds out when it would renew it. */
  :: atomic { state[c] == loading && lease != token[c] -> startAnew(c) }
  /* Redis cannot be heard, and the lease could have run out. The load goes on, for those who asked before it began. */
  :: atomic { state[c] == loading && slips > 0 ->
      slip();
      lateToken[c] = token[c];
      if
      :: true -> startAnew(c)
      :: true -> succeed(c, goodFromBegin[c])
      fi
    }
  /* The load ends: nobody joins from now on. */
  :: atomic { state[c] == loading ->
      good[c] = hasAsked(fellow(c));
      fill(token[c], got[c], reply);
#ifdef ANSWER_BEFORE_FILL_ACCEPTED
      succeed(c, good[c]);
#else
      state[c] = filled;
      got[c] = reply;
      if
      :: slips == 0 -> token[c] = 0; goodFromBegin[c] = 0
      :: else
      fi;
#endif
      reply = 0
    }
  /* Its fill comes late: it is not known whether it will be accepted. */
  :: atomic { state[c] == loading && slips > 0 ->
      lateToken[c] = token[c];
      lateValue[c] = got[c];
      slip();
      succeed(c, goodIfUnknown(c))
    }

  :: atomic { state[c] == filled && isValue(got[c]) -> succeed(c, goodInFill(c)) }
  :: atomic { state[c] == filled && got[c] == refused -> startAnew(c) }
  /* The reply to the fill does not come. */
  :: atomic { state[c] == filled && slips > 0 && isValue(got[c]) -> slip(); succeed(c, goodIfUnknown(c)) }
  /* It is lost, and the client sends the fill again. */
  :: atomic { state[c] == filled && slips > 0 && isValue(got[c]) ->
      fill(token[c], got[c], got[c]);
      slip();
      token[c] = 0;
      goodFromBegin[c] = 0
    }

  :: state[c] == answered -> break
  od
}

/* What has a time to live ends; and what was given up comes late. */
proctype Redis() {
  byte c;
  mtype reply;
end:
  do
#ifndef LEASE_NEVER_EXPIRES
  /* Nobody renews it. */
  :: atomic { lease != 0 && holder == crashed -> lawful = 0; endLease(lease, nothing) }
#endif
  /* Its holder is slow, stopped or cut off; or another took over because the holder's inbox was silent. */
  :: atomic { lease != 0 && expiries > 0 -> expiries--; faulty = 1; lawful = 0; endLease(lease, nothing) }
  :: atomic { value != nothing && expiries > 0 -> expiries--; faulty = 1; value = nothing; writer = 0 }
  :: atomic {
      if
      :: lateToken[0] != 0 -> c = 0
      :: lateToken[1] != 0 -> c = 1
      :: lateToken[2] != 0 -> c = 2
      :: lateToken[3] != 0 -> c = 3
#if PROCESSES > 2
      :: lateToken[4] != 0 -> c = 4
      :: lateToken[5] != 0 -> c = 5
#endif
      fi;
      if
      :: isValue(lateValue[c]) -> fill(lateToken[c], lateValue[c], reply)
      :: true -> release(lateToken[c])
      fi;
      lateToken[c] = 0;
      lateValue[c] = nothing;
      reply = 0;
      c = 0
    }
  od
}

inline detach(p) {
  detached[2 * p] = joinable(2 * p);
  detached[2 * p + 1] = joinable(2 * p + 1)
}

/*
 * One of the processes invalidates the key. It counts from the moment when Redis has done it: the reply can only come
 * later, and nothing happens when it comes.
 */
proctype Invalidation() {
  atomic {
    if
    :: detach(0)
    :: detach(1)
#if PROCESSES > 2
    :: detach(2)
#endif
    fi;
#ifdef GAPS
  }
  atomic {
#endif
    overwrite()
  }
}

/* A fill that was sent before may still arrive. */
inline die(c) {
  if
  :: state[c] == loading && lease == token[c] -> lateToken[c] = token[c]; lateValue[c] = got[c]
  :: true
  fi;
  late[c] = 0;
  forget(c, answered)
}

inline crash(p) {
  crashed = p;
  faulty = 1;
  loadedOnce = 0;
  die(2 * p);
  die(2 * p + 1)
}

proctype Crash() {
  atomic {
    if
    :: crash(0)
    :: crash(1)
#if PROCESSES > 2
    :: crash(2)
#endif
    fi
  }
}

/* What may happen need not: otherwise a run that is stuck without a fault would be saved by it. */
init {
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
    run Redis();
    run Caller(0);
    run Caller(1);
    run Caller(2);
    run Caller(3);
#if PROCESSES > 2
    run Caller(4);
    run Caller(5)
#endif
  }
}
