// Cuts the beginning that all texts of a column share, so that a narrow column shows how they differ. Has no side
// effects.

/** Minimum number of characters that are cut. */
const cutMin = 12;

/**
 * Returns the texts with a shared beginning shortened to its first characters; the same texts if they share little.
 *
 * @param keptMax maximum number of shared characters that remain before the ellipsis
 */
export function differingTexts(texts: readonly string[], keptMax = 20): readonly string[] {
  const [first = "", ...others] = [...new Set(texts.filter((text) => text !== ""))];
  let length = others.length === 0 ? 0 : first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--;
  // Words remain whole.
  const start = first.slice(0, length).search(/\S*$/);
  if (start < keptMax + cutMin) return texts;
  const kept = first.slice(0, keptMax).replace(/\s\S*$/, "");
  return texts.map((text) => (text === "" ? "" : `${kept} … ${text.slice(start)}`));
}
