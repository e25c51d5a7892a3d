// Reason to abort a wait that is no longer needed.

/**
 * All such aborts share this error. An abort without a reason would create an error with a stack each time, which takes
 * longer than most waits.
 */
export const waitOver = new Error("what was waited for has come");
