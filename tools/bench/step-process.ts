// One side of `train-step`: a process that takes training steps when it is told to.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BasePrecision } from "../../src/base/domain/trainer/base-precision.ts";
import { LineProcess } from "./line-process.ts";

/** What of a `config.json` is read here; the other side reads all of it. */
export interface ModelFile {
  readonly vocab_size: number;
}

export function readModelFile(folder: string): ModelFile {
  return JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as ModelFile;
}

/** What both sides train. */
export interface StepJob {
  /** A model folder; the other side reads `config` alone, and has random weights. */
  readonly folder: string;
  readonly config: ModelFile;
  readonly rows: number;
  readonly length: number;
  readonly rank: number;
  readonly targets: readonly string[];
  readonly threads: number;
  /** Of our side alone. */
  readonly basePrecision: BasePrecision;
}

export class StepProcess {
  readonly #process: LineProcess;

  /**
   * @param command a program and its arguments, which reads and answers lines as `train-step-worker.ts` says
   * @param environment what it has beside ours
   */
  constructor(
    command: readonly [string, ...string[]],
    job: StepJob,
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#process = new LineProcess(command, environment);
    this.#process.tell(JSON.stringify(job));
  }

  /** Takes a step; its time in milliseconds. */
  async step(): Promise<number> {
    const { ms } = await this.#process.ask("step");
    return ms;
  }

  /** Ends the process; the most memory that it has held, in bytes. */
  async end(): Promise<number> {
    const { memoryBytes } = await this.#process.ask("end");
    return memoryBytes;
  }
}
