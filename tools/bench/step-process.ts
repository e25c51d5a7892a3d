// Runs one side of the benchmark `train-step`: a process that takes a training step on each command.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BasePrecision } from "../../src/base/domain/trainer/base-precision.ts";
import { LineProcess } from "./line-process.ts";

/** Fields of `config.json` that Hone's side of the benchmark needs. PyTorch's side needs the whole file. */
export interface ModelFile {
  readonly vocab_size: number;
}

export function readModelFile(folder: string): ModelFile {
  return JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as ModelFile;
}

/** The training that both sides run. */
export interface StepJob {
  /** Model folder. Hone's side loads its weights; PyTorch's side uses only `config` and random weights. */
  readonly folder: string;
  readonly config: ModelFile;
  readonly rows: number;
  readonly length: number;
  readonly rank: number;
  readonly targets: readonly string[];
  readonly threads: number;
  /** Precision of the frozen base weights on Hone's side. */
  readonly basePrecision: BasePrecision;
}

export class StepProcess {
  readonly #process: LineProcess;

  /**
   * @param command program and its arguments; its protocol is described in `train-step-worker.ts`
   * @param environment variables to add to those of this process
   */
  constructor(
    command: readonly [string, ...string[]],
    job: StepJob,
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#process = new LineProcess(command, environment);
    this.#process.tell(JSON.stringify(job));
  }

  /** Takes a training step; returns its duration in milliseconds. */
  async step(): Promise<number> {
    const { ms } = await this.#process.ask("step");
    return ms;
  }

  /** Ends the process; returns its peak memory in bytes. */
  async end(): Promise<number> {
    const { memoryBytes } = await this.#process.ask("end");
    return memoryBytes;
  }
}
