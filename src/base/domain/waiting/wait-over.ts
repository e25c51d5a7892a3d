// Abort reason for a wait that is no longer needed.

/**
 * Created once, because an abort without a reason creates an error with a stack each time, which takes longer than
 * most waits.
 */
export const waitOver = new Error("what was waited for has come");
