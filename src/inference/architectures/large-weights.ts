// Size from which Hone keeps a model's weights in mapped files instead of in each process's memory.

/** Copying smaller weights is fast, and a file would take disk space to save little memory. */
export const largeWeightBytes = 64 * 1024 * 1024;
