// Reason to abort a wait that is no longer needed.

/**
 * Abort reason that all waits share. An abort without a reason would create a new error with a stack trace each time,
 * which takes longer than most waits.
 */
export const waitOver = new Error("what was waited for has come");
