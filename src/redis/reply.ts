/** Whether a reply is 1. A client may return integers as strings. */
export function isYes(reply: unknown): boolean {
  return Number(reply) === 1
}
