// Size from which a model's weights are kept in mapped files, and not in the memory of each process.

/** Smaller weights are copied fast, and a file would cost disk space for little memory. */
export const largeWeightBytes = 64 * 1024 * 1024;
