// Reads an asynchronous sequence in batches of what is there already. An engine emits the last tokens and the end of a
// choice as two events at once; read as one batch, they become one message to the client.

const batchSizeMax = 256;

/**
 * Yields everything that is available without waiting for input, at least one item, in order. An error of the source is
 * thrown after the items before it were yielded. Leaving early ends the source.
 */
export async function* readyBatches<T>(source: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  const iterator = source[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const first = await next;
      if (first.done) return;
      const batch = [first.value];
      next = iterator.next();
      while (batch.length < batchSizeMax) {
        const ready = await settledBeforeInput(next);
        if (ready === null || ready.done) break;
        batch.push(ready.value);
        next = iterator.next();
      }
      yield batch;
    }
  } finally {
    // Nobody will look at what the source still emits, least of all that it was aborted.
    next.catch(() => undefined);
    Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/** The value, if the promise resolves before the event loop looks for input again; null otherwise, also when it rejects. */
function settledBeforeInput<T>(promise: Promise<T>): Promise<T | null> {
  const later = new Promise<null>((resolve) => setImmediate(resolve, null));
  return Promise.race([promise.catch(() => null), later]);
}
