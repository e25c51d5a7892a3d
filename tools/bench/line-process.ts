// A process that runs one side of a benchmark. It answers each input line with one line of JSON.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

export class LineProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  /**
   * @param command program and its arguments
   * @param environment variables to add to those of this process
   */
  constructor(
    [program, ...flags]: readonly [string, ...string[]],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const env = { ...process.env, ...environment };
    this.#child = spawn(program, flags, { stdio: ["pipe", "pipe", "inherit"], env });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Sends a line that gets no answer. */
  tell(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** Sends a line and returns the numbers in the answer. */
  async ask(line: string): Promise<Readonly<Record<string, number>>> {
    this.tell(line);
    const answer = await this.#lines.next();
    if (answer.done)
      throw new Error("A process of the benchmark ended early; see its output for the reason.");
    // Safe cast: the programs at the other end are part of this repository.
    return JSON.parse(answer.value) as Record<string, number>;
  }

  /** Closes the input, so that the process ends after it has answered everything. */
  end(): void {
    this.#child.stdin.end();
  }
}
