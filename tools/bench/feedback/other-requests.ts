// Sends small requests from a separate thread while other clients write to the server, and reports how long each
// response took.
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { present } from "../../../src/base/domain/assert.ts";
import { headOf, KeepAliveConnection } from "./keep-alive.ts";

export interface Waits {
  readonly name: string;
  readonly count: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

interface Asked {
  readonly url: string;
  readonly authorization: string;
}

/** Pause between two requests. */
const pauseMs = 10;
const paths = ["/health", "/v1/models"] as const;

export class OtherRequests {
  readonly #worker: Worker;

  constructor(server: Asked) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: server, execArgv: [] });
  }

  /** Stops sending and returns the latencies. */
  async end(): Promise<readonly Waits[]> {
    const times = new Promise<Readonly<Record<string, number[]>>>((resolve, reject) =>
      this.#worker.once("message", resolve).once("error", reject),
    );
    this.#worker.postMessage("end", []);
    return Object.entries(await times).map(([name, ms]) => ({
      name,
      count: ms.length,
      medianMs: quantile(ms, 0.5),
      p99Ms: quantile(ms, 0.99),
      slowestMs: quantile(ms, 1),
    }));
  }
}

/** Returns the quantile: the smallest figure so that at least the fraction `share` of all figures is not larger. */
export function quantile(figures: readonly number[], share: number): number {
  const sorted = figures.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

async function askOn({ url, authorization }: Asked): Promise<void> {
  const port = present(parentPort, "the port of a worker's parent");
  const over = new AbortController();
  port.once("message", () => over.abort());
  const times: Record<string, number[]> = Object.fromEntries(paths.map((path) => [path, []]));
  const connection = new KeepAliveConnection(url);
  for (let index = 0; !over.signal.aborted; index++) {
    const path = paths[index % paths.length];
    const start = performance.now();
    const { status } = await connection.ask(headOf({ method: "GET", path, authorization }));
    if (status !== 200) throw new Error(`${path} was answered with ${status}`);
    times[path].push(performance.now() - start);
    await sleep(pauseMs);
  }
  connection.close();
  port.postMessage(times, []);
}

// This thread was started by the class above, which passes these data.
if (!isMainThread) await askOn(workerData as Asked);
