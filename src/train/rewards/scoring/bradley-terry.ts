// From who was preferred to whom to a score of each, by the model of Bradley and Terry (1952): i is preferred to j with the
// probability s_i / (s_i + s_j).

/** Positions of answers; `winner` was preferred. */
export interface Comparison {
  readonly winner: number;
  readonly loser: number;
}

/** Relative change of a strength below which scores stand to nine digits. */
const tolerance = 1e-10;

/**
 * Where few comparisons hold answers to a weak prior, the fit takes thousands of iterations: what is bounded is the work, some
 * tens of milliseconds, with as many iterations as bring many comparisons near enough.
 */
const [visitsMax, iterationsLeast] = [4_000_000, 1000];

/**
 * The strength of each, fitted by the MM algorithm of Hunter ("MM algorithms for generalized Bradley-Terry models", Annals of
 * Statistics 32, 2004, eq. 3), with a prior in the form of comparisons: each was in `prior` of them with an opponent of strength
 * 1, and won half. With it there is one fit, whoever was compared with whom, and every iteration is nearer to it.
 *
 * @param count of those compared; a position is below it
 * @param prior above 0
 * @returns strengths above 0; of one that was never compared 1
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

/** The probability that one of this strength is preferred to a middling one; in (0, 1), 0.5 for one that is middling itself. */
export function scoreOfStrength(strength: number): number {
  return strength / (strength + 1);
}
