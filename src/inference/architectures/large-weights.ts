// Minimum size of a model's weights at which Hone maps them from files instead of copying them into each process's
// memory.

/** Smaller weights are copied, because copying them is fast, and a file would take disk space to save little memory. */
export const largeWeightBytes = 64 * 1024 * 1024;
