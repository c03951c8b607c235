/** How much a finding matters: a `problem` must be mended, a `warning` looked at; a `note` is good to know. */
export type Level = 'ok' | 'note' | 'warning' | 'problem'

/** What one check has found. */
export interface Finding {
  /** The check, in a word or two. */
  readonly check: string
  readonly level: Level
  /** What was seen, with its figures. */
  readonly what: string
  /** Why it matters and what to do; `''` where there is nothing to do. */
  readonly todo: string
  /** The part of the documentation that says more. */
  readonly page: string
}

/** Makes the findings of one check. */
export interface Voice {
  ok(what: string): Finding
  note(what: string, todo?: string): Finding
  warning(what: string, todo: string): Finding
  problem(what: string, todo: string): Finding
}

/** The voice of a check, whose findings name this page unless they know a better one. */
export function about(check: string, page: string): Voice {
  const say = (level: Level, what: string, todo: string): Finding => ({ check, level, what, todo, page })
  return {
    ok: (what) => say('ok', what, ''),
    note: (what, todo = '') => say('note', what, todo),
    warning: (what, todo) => say('warning', what, todo),
    problem: (what, todo) => say('problem', what, todo),
  }
}
