// Precision with which a trainer multiplies by the weights of the base model, which training does not change.

export const basePrecisions = ["float32", "int8"] as const;

/**
 * With `int8`, these weights and the values multiplied by them are quantized. Adapters and everything else stay
 * float32.
 */
export type BasePrecision = (typeof basePrecisions)[number];
