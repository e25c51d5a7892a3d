// For tests: a process that runs command lines one after another as users type them, and returns their output, streams
// and exit status. Starting a process per command would take longer than the commands.
import { spawn, type ChildProcess } from "node:child_process";
import { resolve } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import type { SettingsOverrides } from "../../server/settings.ts";

/** Result of one command line. */
export interface Ended {
  readonly status: number;
  readonly output: string;
  readonly errors: string;
}

export interface Surroundings {
  readonly folder?: string;
  /** Overrides of the server's limits. */
  readonly limits?: SettingsOverrides;
  /** Variables added to the environment of the test process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The whole standard input. */
  readonly input?: string;
}

const program = `
  const [{ main }, usual] = [await import(process.argv[1]), { ...process.env }];
  for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0);
  const end = (status) => {
    process.stderr.write("\\0");
    process.stdout.write("\\0" + status + "\\0");
  };
  process.on("exit", (status) => end("exit " + status));
  process.on("message", async ({ words, folder, environment, limits }) => {
    process.env = { ...usual, ...environment };
    process.chdir(folder);
    process.exitCode = 0;
    await main(words, limits);
    end(process.exitCode);
  });`;
const { TEST_SERVER: bundled } = process.env;
/**
 * Module that runs the commands: the bundle, if tests name one, because the unbundled build takes twice as long to
 * load.
 */
const mainModule =
  bundled === undefined ? new URL("../main.js", import.meta.url).href : pathToFileURL(resolve(bundled)).href;

/** Process that runs the commands of all test files in this process; null before the first command. */
let child: ChildProcess | null = null;
/** Resolves when the last command has ended. */
let last: Promise<unknown> = Promise.resolve();

/** Returns a function that runs command lines, all in one process that exits after the last test. */
export function commandProcess(): (words: readonly string[], surroundings?: Surroundings) => Promise<Ended> {
  after(() => child?.kill());
  return (words, surroundings = {}) => {
    const ended = last.then(() => runNext(words, surroundings));
    last = ended.catch(() => undefined);
    return ended;
  };
}

async function runNext(words: readonly string[], surroundings: Surroundings): Promise<Ended> {
  const started = (child ??= spawn(process.execPath, ["--input-type=module", "-e", program, mainModule], {
    stdio: ["pipe", "pipe", "pipe", "ipc"],
  }));
  const { hasExited, ...ended } = await runIn(started, words, surroundings);
  if (hasExited || surroundings.input !== undefined) {
    // The process ends, or has read its standard input to the end. So the next command gets another process.
    started.kill();
    child = null;
  }
  return ended;
}

async function runIn(
  child: ChildProcess,
  words: readonly string[],
  { folder = process.cwd(), environment = {}, limits = {}, input }: Surroundings,
): Promise<Ended & { readonly hasExited: boolean }> {
  if (input !== undefined) child.stdin?.end(input);
  child.send({ words, folder, environment, limits });
  const [[output, status], [errors]] = await Promise.all([
    textsOf(child.stdout, 2),
    textsOf(child.stderr, 1),
  ]);
  return {
    status: Number(status.replace("exit ", "")),
    output,
    errors,
    hasExited: status.startsWith("exit"),
  };
}

/** Reads `count` texts, each ended by a NUL character. */
async function textsOf(stream: ChildProcess["stdout"], count: number): Promise<readonly string[]> {
  let text = "";
  return await new Promise((resolve, reject) => {
    const take = (data: Buffer): void => {
      text += data.toString();
      const texts = text.split("\0");
      if (texts.length <= count) return;
      stream?.off("data", take).off("close", fail);
      resolve(texts);
    };
    const fail = (): void => reject(new Error(`the command process exited: ${text}`));
    stream?.on("data", take).once("close", fail);
  });
}
