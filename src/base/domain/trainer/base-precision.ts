// Precision of a trainer's products with the weights of a base model, which do not change.

export const basePrecisions = ["float32", "int8"] as const;

/** `int8` rounds these weights and the values multiplied with them. Adapters and everything else stay float32. */
export type BasePrecision = (typeof basePrecisions)[number];
