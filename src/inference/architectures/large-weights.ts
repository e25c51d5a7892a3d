// From which size on a model's weights are kept in files that are mapped, and not in the memory of whoever computes with them.

/** Fewer bytes are copied at once, and disk would be spent for little memory. */
export const largeWeightBytes = 64 * 1024 * 1024;
