// Tracks the version with the best validation, and how many validations ago it was. Pure.

export interface Best {
  readonly step: number;
  readonly reward: number;
}

export interface Progress {
  readonly best: Best | null;
  /** Number of validations since the best one. */
  readonly worseCount: number;
}

export const noProgress: Progress = { best: null, worseCount: 0 };

/**
 * Returns the progress after another validation.
 *
 * @param minDelta minimum improvement over the best reward
 */
export function withValidation(
  { best, worseCount }: Progress,
  validated: Best,
  { minDelta = 0 }: { readonly minDelta?: number } = {},
): Progress {
  const isBest = best === null || validated.reward > best.reward + minDelta;
  return isBest ? { best: validated, worseCount: 0 } : { best, worseCount: worseCount + 1 };
}
