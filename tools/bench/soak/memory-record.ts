// Records the resident memory of a server's processes over time; computes how much it grew after a warm-up, and draws
// a chart.
import { drawChart } from "../../../src/apps/cli/watch/charts.ts";
import { childrenOf } from "../../../test/running-server.ts";
import { residentBytes } from "../../../test/process-tree.ts";

export type ServerProcess = "server" | "engine";

interface Sample {
  readonly seconds: number;
  readonly mebibytes: Readonly<Record<ServerProcess, number>>;
}

export interface Growth {
  readonly process: ServerProcess;
  /** Median memory in the first fifth and in the last fifth of the time after the warm-up. */
  readonly firstMebibytes: number;
  readonly lastMebibytes: number;
  /** Relative growth: `lastMebibytes` / `firstMebibytes` - 1. */
  readonly growth: number;
  readonly picture: readonly string[];
}

export class MemoryRecord {
  readonly #processId: number;
  readonly #samples: Sample[] = [];

  constructor(processId: number) {
    this.#processId = processId;
  }

  /** Returns the ids of the engine processes, including one that was started in advance and not used yet. */
  engineIds(): readonly number[] {
    return childrenOf(this.#processId).flatMap(({ id, command }) =>
      command.includes("embedded-main") ? [id] : [],
    );
  }

  take(seconds: number): Sample {
    const engine = this.engineIds().reduce((sum, id) => sum + residentBytes(id), 0);
    const mebibytes = { server: residentBytes(this.#processId) / 2 ** 20, engine: engine / 2 ** 20 };
    const sample = { seconds, mebibytes };
    this.#samples.push(sample);
    return sample;
  }

  growths(warmUpSeconds: number): readonly Growth[] {
    return (["server", "engine"] as const).map((process): Growth => {
      const all = this.#samples.map(({ mebibytes }) => mebibytes[process]);
      const after = this.#samples.flatMap(({ seconds, mebibytes }) =>
        seconds >= warmUpSeconds ? [mebibytes[process]] : [],
      );
      const share = Math.max(1, Math.floor(after.length / 5));
      const [firstMebibytes, lastMebibytes] = [after.slice(0, share), after.slice(-share)].map(medianOf);
      const growth = lastMebibytes / firstMebibytes - 1;
      return {
        process,
        firstMebibytes,
        lastMebibytes,
        growth,
        picture: drawChart(all, { height: 8, width: 90 }),
      };
    });
  }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)];
}
