// Computes scores from pairwise preferences with the model of Bradley and Terry (1952): i is preferred to j with
// probability s_i / (s_i + s_j).

/** A comparison of two answers, each given by its position in a list. The answer at `winner` was preferred. */
export interface Comparison {
  readonly winner: number;
  readonly loser: number;
}

/** Relative change of a strength below which the fit stops. Scores are then accurate to nine digits. */
const tolerance = 1e-10;

/**
 * Limits on the work of one fit, which keep it below some tens of milliseconds. Few comparisons with a weak prior need
 * thousands of iterations. Many comparisons converge within the minimum number of iterations.
 */
const [visitsMax, iterationsLeast] = [4_000_000, 1000];

/**
 * Fits strengths with the MM algorithm (Hunter, "MM algorithms for generalized Bradley-Terry models", Annals of
 * Statistics 32, 2004, equation 3). The prior adds `prior` comparisons of each answer with an opponent of strength 1;
 * the answer wins half of them. It makes the fit unique for any comparisons.
 *
 * @param count number of answers; positions are below it
 * @param prior number of added comparisons per answer, above 0
 * @returns strengths above 0; 1 for an answer without comparisons
 */
export function bradleyTerryStrengths(
  comparisons: readonly Comparison[],
  count: number,
  prior: number,
): readonly number[] {
  const wins = Array.from({ length: count }, () => prior / 2);
  for (const { winner } of comparisons) wins[winner] += 1;
  let strengths = Array.from({ length: count }, () => 1);
  const iterationsMax = Math.max(iterationsLeast, visitsMax / (count + comparisons.length));
  for (let iteration = 0; iteration < iterationsMax; iteration++) {
    const met = strengths.map((strength) => prior / (strength + 1));
    for (const { winner, loser } of comparisons) {
      const share = 1 / (strengths[winner] + strengths[loser]);
      met[winner] += share;
      met[loser] += share;
    }
    const next = wins.map((won, index) => won / met[index]);
    const change = Math.max(
      0,
      ...next.map((strength, index) => Math.abs(Math.log(strength / strengths[index]))),
    );
    strengths = next;
    if (change < tolerance) break;
  }
  return strengths;
}

/**
 * Returns the probability in (0, 1) that an answer of this strength is preferred to an average answer; 0.5 for an
 * average answer.
 */
export function scoreOfStrength(strength: number): number {
  return strength / (strength + 1);
}
