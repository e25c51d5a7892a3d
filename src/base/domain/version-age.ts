// Age of a model's version: the number of versions by which it is older than the newest.

/** Maximum value of a limit on the age of versions. */
export const versionAgeLimit = 1_000_000;

/**
 * Returns the number of the oldest version whose answers may be trained on. `versionAgeMax` is the maximum distance to
 * the newest version; null if unlimited.
 */
export function oldestStep(newestStep: number, versionAgeMax: number | null): number {
  return versionAgeMax === null ? 0 : Math.max(0, newestStep - versionAgeMax);
}
