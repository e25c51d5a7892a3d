// In which precision a trainer computes products with the weights of a base model, which do not change.

export const basePrecisions = ["float32", "int8"] as const;

/** With `int8` they are rounded, and so is what is multiplied with them; adapters and all else stay float32. */
export type BasePrecision = (typeof basePrecisions)[number];
