// How a job's sequences are packed: which share an optimizer step, and what of them is computed together. It decides how
// many steps a job has and the last digits of its adapter, so a job keeps the one that it began with.

/**
 * - `rows-1`: sequences of like length together, each computed whole; every token counts.
 * - `packed-2`: trajectory groups together, what sequences begin with alike computed once; computed tokens count.
 */
export const packingAlgorithms = ["rows-1", "packed-2"] as const;

export type PackingAlgorithm = (typeof packingAlgorithms)[number];

/** Of jobs that began before there was another. */
export const firstPackingAlgorithm: PackingAlgorithm = "rows-1";
