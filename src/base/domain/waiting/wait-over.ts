// Why a wait ends that nobody needs any more, since what was waited for has come.

/**
 * The reason to abort such a wait with. Made once: an abort without a reason makes an error each time, with its stack, which
 * costs more than most of what is waited for.
 */
export const waitOver = new Error("what was waited for has come");
