// The threads in which libsql runs what it is asked for by promises.
import { isMainThread } from "node:worker_threads";

const threadCount = "TOKIO_WORKER_THREADS";

/**
 * Has libsql make at least so many: left to itself it makes one for each core, and where that is one, a slow query would
 * hold up all others. It reads the variable once, from the process's own environment, when the first database is opened.
 */
export function haveThreads(count: number): void {
  if (isMainThread) process.env[threadCount] ??= String(count + 1);
}
