// One side of `train-step`: a process that takes training steps when it is told to.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

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
}

export class StepProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  /**
   * @param command a program and its arguments, which reads and answers lines as `train-step-worker.ts` says
   * @param environment what it has beside ours
   */
  constructor(
    [program, ...flags]: readonly [string, ...string[]],
    job: StepJob,
    environment: Readonly<Record<string, string>> = {},
  ) {
    const env = { ...process.env, ...environment };
    this.#child = spawn(program, flags, { stdio: ["pipe", "pipe", "inherit"], env });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.#child.stdin.write(`${JSON.stringify(job)}\n`);
  }

  /** Takes a step; its time in milliseconds. */
  async step(): Promise<number> {
    return await this.#ask("step", "ms");
  }

  /** Ends the process; the most memory that it has held, in bytes. */
  async end(): Promise<number> {
    return await this.#ask("end", "memoryBytes");
  }

  async #ask(line: string, field: string): Promise<number> {
    this.#child.stdin.write(`${line}\n`);
    const answer = await this.#lines.next();
    if (answer.done)
      throw new Error("A side of the benchmark ended before its time; its own output says why.");
    // The two programs of the other side are ours.
    return (JSON.parse(answer.value) as Record<string, number>)[field];
  }
}
