// Which texts come back from every database as they went in.

/** False for a text with a NUL or half a surrogate pair; as JSON, which escapes both, it can be stored all the same. */
export function isStorable(text: string): boolean {
  // Most texts have neither, which is found much faster than whether surrogates come in pairs.
  return !/[\0\ud800-\udfff]/.test(text) || !/[\0\p{Surrogate}]/u.test(text);
}
