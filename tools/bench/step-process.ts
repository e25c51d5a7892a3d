// One side of `train-step`: a process that takes training steps on command.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BasePrecision } from "../../src/base/domain/trainer/base-precision.ts";
import { LineProcess } from "./line-process.ts";

/** Fields of a `config.json` that this side reads; the other side reads all of it. */
export interface ModelFile {
  readonly vocab_size: number;
}

export function readModelFile(folder: string): ModelFile {
  return JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as ModelFile;
}

/** Training that both sides do. */
export interface StepJob {
  /** Model folder; the other side reads only `config`, and has random weights. */
  readonly folder: string;
  readonly config: ModelFile;
  readonly rows: number;
  readonly length: number;
  readonly rank: number;
  readonly targets: readonly string[];
  readonly threads: number;
  /** Base precision of our side only. */
  readonly basePrecision: BasePrecision;
}

export class StepProcess {
  readonly #process: LineProcess;

  /**
   * @param command a program and its arguments, which reads and answers lines as `train-step-worker.ts` says
   * @param environment variables to add to ours
   */
  constructor(
    command: readonly [string, ...string[]],
    job: StepJob,
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#process = new LineProcess(command, environment);
    this.#process.tell(JSON.stringify(job));
  }

  /** Takes a step, and returns its time in milliseconds. */
  async step(): Promise<number> {
    const { ms } = await this.#process.ask("step");
    return ms;
  }

  /** Ends the process, and returns its peak memory in bytes. */
  async end(): Promise<number> {
    const { memoryBytes } = await this.#process.ask("end");
    return memoryBytes;
  }
}
