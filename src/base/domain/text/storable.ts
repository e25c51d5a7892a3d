// Texts that every database returns unchanged.

/** False for a text with NUL or an unpaired surrogate. Such a text can still be stored as JSON, which escapes both. */
export function isStorable(text: string): boolean {
  // Most texts contain neither, and this test is much faster than checking the pairing of surrogates.
  return !/[\0\ud800-\udfff]/.test(text) || !/[\0\p{Surrogate}]/u.test(text);
}
