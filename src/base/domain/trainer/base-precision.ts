// Precision in which a trainer multiplies with the weights of the base model, which training does not change.

export const basePrecisions = ["float32", "int8"] as const;

/**
 * `int8` quantizes the base model's weights and the values that are multiplied with them. Adapters and everything else
 * remain float32.
 */
export type BasePrecision = (typeof basePrecisions)[number];
