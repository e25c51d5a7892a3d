// Recognises by the end of a process's standard error that it ran out of memory: V8 and the C++ library say so. Where the
// operating system ended it, nothing does. Pure.

/** What is looked at of a process's standard error: V8 says much more behind what it died of. */
export const lastWordsLength = 16_384;

/**
 * How a process ended that lacked memory, in words that follow its name; null where nothing speaks for that.
 *
 * @param how it ended: `was ended by SIGABRT`
 * @param lastWords the end of what it wrote to standard error
 */
export function memoryLack(how: string, lastWords: string): string | null {
  if (lastWords.includes("JavaScript heap out of memory")) {
    // Of the last collection: what was alive then is what filled the heap.
    const size = [...lastWords.matchAll(/-> ([\d.]+) \([\d.]+\) MB/g)].at(-1)?.[1];
    const full = size === undefined ? "" : `, full at ${Math.round(Number(size))} MB`;
    return `ran out of memory (its JavaScript heap${full}) and ${how}`;
  }
  return lastWords.includes("std::bad_alloc") ? `ran out of memory and ${how}` : null;
}
