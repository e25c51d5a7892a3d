// How far annotators agree beyond what chance would have them, on answers that are categories without an order. Pure.

export interface ChanceCorrected {
  /** The part of the answers that agree, in [0, 1]. */
  readonly observed: number;
  /** The part that would agree by chance, in [0, 1]. */
  readonly expected: number;
  /** In [-1, 1]; null where nobody ever disagrees because there is one answer alone, for which it is undefined. */
  readonly kappa: number | null;
}

/**
 * Cohen's kappa of two annotators: (p_o - p_e) / (1 - p_e), where p_o is the part of the items that both put into one
 * category and p_e the part that they would by chance, each with the frequencies of their own. J. Cohen, A coefficient of
 * agreement for nominal scales, Educational and Psychological Measurement 20 (1960) 37-46.
 *
 * @param pairs the categories of each item, at least one; the first annotator's is first
 */
export function cohensKappa(pairs: readonly (readonly [string, string])[]): ChanceCorrected {
  const first = frequencies(pairs.map(([category]) => category));
  const second = frequencies(pairs.map(([, category]) => category));
  const observed = pairs.filter(([one, other]) => one === other).length / pairs.length;
  let expected = 0;
  for (const [category, part] of first) expected += part * (second.get(category) ?? 0);
  return { observed, expected, kappa: corrected(observed, expected) };
}

/**
 * Fleiss' kappa of any number of annotators, who need not be the same ones for each item: (P - P_e) / (1 - P_e). P is the
 * part of the pairs of an item's answers that agree, averaged over the items with at least two answers; P_e is the sum of the
 * squares of each category's part of an item's answers, averaged over all items. J. L. Fleiss, Measuring nominal scale
 * agreement among many raters, Psychological Bulletin 76 (1971) 378-382, equations 1 to 7, for items with equally many
 * answers; for others as K. L. Gwet, Handbook of Inter-Rater Reliability, 4th edition (2014), extends it.
 *
 * @param items the categories of each item's answers: each has one at least, and one item has two
 */
export function fleissKappa(items: readonly (readonly string[])[]): ChanceCorrected {
  const observed = mean(items.filter((categories) => categories.length >= 2).map(agreeingPart));
  const ofCategory = new Map<string, number>();
  for (const categories of items)
    for (const [category, part] of frequencies(categories))
      ofCategory.set(category, (ofCategory.get(category) ?? 0) + part);
  let expected = 0;
  for (const sum of ofCategory.values()) expected += (sum / items.length) ** 2;
  return { observed, expected, kappa: corrected(observed, expected) };
}

/** The part of the pairs of an item's answers that agree: of two answers 0 or 1. */
function agreeingPart(categories: readonly string[]): number {
  let agreeing = 0;
  for (const count of counts(categories).values()) agreeing += count * (count - 1);
  return agreeing / (categories.length * (categories.length - 1));
}

function mean(parts: readonly number[]): number {
  return parts.reduce((sum, part) => sum + part, 0) / parts.length;
}

/** The part of each category; they sum to 1. */
function frequencies(categories: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...counts(categories)].map(([category, count]) => [category, count / categories.length]));
}

function counts(categories: readonly string[]): ReadonlyMap<string, number> {
  const counted = new Map<string, number>();
  for (const category of categories) counted.set(category, (counted.get(category) ?? 0) + 1);
  return counted;
}

/** Null where everybody gave one answer alone: there is nothing that chance could have made different. */
function corrected(observed: number, expected: number): number | null {
  // Parts are sums of fractions; one category alone has exactly 1.
  return expected === 1 ? null : (observed - expected) / (1 - expected);
}
