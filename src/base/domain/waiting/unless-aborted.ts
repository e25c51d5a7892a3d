// Waits for an operation until a signal aborts the wait. The operation itself continues.

/**
 * Returns the result of an operation.
 *
 * @throws the signal's reason if it aborts first, while the operation continues; otherwise the error of the operation
 */
export async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  return await new Promise<Value>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
