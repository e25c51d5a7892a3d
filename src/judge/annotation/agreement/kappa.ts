// Computes the chance-corrected agreement of annotators on unordered categories. Pure functions.

export interface ChanceCorrected {
  /** Observed agreement of the answers, in [0, 1]. */
  readonly observed: number;
  /** Agreement expected by chance, in [0, 1]. */
  readonly expected: number;
  /** Kappa, in [-1, 1]; null if all answers are in one category, because kappa is then undefined. */
  readonly kappa: number | null;
}

/**
 * Computes Cohen's kappa of two annotators: (p_o - p_e) / (1 - p_e). p_o is the share of items with equal categories,
 * and p_e the share expected by chance from each annotator's frequencies. J. Cohen, A coefficient of agreement for
 * nominal scales, Educational and Psychological Measurement 20 (1960) 37-46.
 *
 * @param pairs the two categories of each item, the first annotator's first; at least one pair
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
 * Computes Fleiss' kappa of any number of annotators, who may differ between items: (P - P_e) / (1 - P_e). P averages
 * the share of equal pairs over items with two or more answers; P_e sums the squares of each category's share, averaged
 * over all items. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76 (1971)
 * 378-382, equations 1 to 7, extended to unequal numbers of answers as in Gwet, Handbook of Inter-Rater Reliability,
 * 4th edition (2014).
 *
 * @param items the categories of each item's answers; each item has at least one answer, and some item has two
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

/** Returns the share of an item's pairs of answers that are equal. With two answers, the share is 0 or 1. */
function agreeingPart(categories: readonly string[]): number {
  let agreeing = 0;
  for (const count of counts(categories).values()) agreeing += count * (count - 1);
  return agreeing / (categories.length * (categories.length - 1));
}

function mean(parts: readonly number[]): number {
  return parts.reduce((sum, part) => sum + part, 0) / parts.length;
}

/** Returns, for each category, its share of the answers. The shares sum to 1. */
function frequencies(categories: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...counts(categories)].map(([category, count]) => [category, count / categories.length]));
}

function counts(categories: readonly string[]): ReadonlyMap<string, number> {
  const counted = new Map<string, number>();
  for (const category of categories) counted.set(category, (counted.get(category) ?? 0) + 1);
  return counted;
}

/**
 * Returns the chance-corrected agreement. Null if all answers are equal, because agreement by chance is then certain.
 */
function corrected(observed: number, expected: number): number | null {
  // Comparing with 1 is exact, because the share of a single category is exactly 1.
  return expected === 1 ? null : (observed - expected) / (1 - expected);
}
