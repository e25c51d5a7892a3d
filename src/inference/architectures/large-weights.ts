// Minimum size of a model's weights at which Hone maps them from files instead of copying them into each process's
// memory.

/** Weights below this size are copied: copying them is fast, and a file for them would save little memory. */
export const largeWeightBytes = 64 * 1024 * 1024;
