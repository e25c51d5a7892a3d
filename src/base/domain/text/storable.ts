// Recognizes texts that every database returns unchanged.

/**
 * True for a text that contains neither NUL nor unpaired surrogates. A text that contains one of these can still be
 * stored as JSON, which escapes them.
 */
export function isStorable(text: string): boolean {
  // Most texts contain neither NUL nor surrogates. This test is much faster than a check of whether surrogates are
  // paired.
  return !/[\0\ud800-\udfff]/.test(text) || !/[\0\p{Surrogate}]/u.test(text);
}
