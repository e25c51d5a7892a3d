// The other side of a benchmark: a process that answers each line with one line of JSON.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

export class LineProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  /**
   * @param command a program and its arguments
   * @param environment variables to add to ours
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

  /** Sends a line and returns the numbers of the answer. */
  async ask(line: string): Promise<Readonly<Record<string, number>>> {
    this.tell(line);
    const answer = await this.#lines.next();
    if (answer.done)
      throw new Error("A side of the benchmark ended before its time; its own output says why.");
    // Safe cast: the programs of the other side are ours.
    return JSON.parse(answer.value) as Record<string, number>;
  }

  /** Ends the process once it has answered everything. */
  end(): void {
    this.#child.stdin.end();
  }
}
