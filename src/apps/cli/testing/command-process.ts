// For tests: a process in which command lines run as their users type them, one after the other: what each prints, on which
// stream, and with which status. To start one for each would take longer than they do.
import { spawn, type ChildProcess } from "node:child_process";
import { resolve } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import type { SettingsOverrides } from "../../server/settings.ts";

/** What one command line came to. */
export interface Ended {
  readonly status: number;
  readonly output: string;
  readonly errors: string;
}

export interface Surroundings {
  readonly folder?: string;
  /** In place of those of a server. */
  readonly limits?: SettingsOverrides;
  /** Beside what the tests' own process has. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What standard input has, to its end: for one command of the process. */
  readonly input?: string;
}

const program = `
  const [{ main }, usual] = [await import(process.argv[1]), { ...process.env }];
  for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0);
  process.on("message", async ({ words, folder, environment, limits }) => {
    process.env = { ...usual, ...environment };
    process.chdir(folder);
    process.exitCode = 0;
    await main(words, limits);
    process.stderr.write("\\0");
    process.stdout.write("\\0" + process.exitCode + "\\0");
  });`;
const { TEST_SERVER: bundled } = process.env;
/** Of the bundle where scripts run the tests: the build's own takes twice as long to load. */
const mainModule =
  bundled === undefined ? new URL("../main.js", import.meta.url).href : pathToFileURL(resolve(bundled)).href;

/** Runs command lines in one process, which ends after the last test. */
export function commandProcess(): (words: readonly string[], surroundings?: Surroundings) => Promise<Ended> {
  let child: ChildProcess | null = null;
  let last: Promise<unknown> = Promise.resolve();
  after(() => child?.kill());
  return (words, surroundings = {}) => {
    child ??= spawn(process.execPath, ["--input-type=module", "-e", program, mainModule], {
      stdio: ["pipe", "pipe", "pipe", "ipc"],
    });
    const started = child;
    const ended = last.then(() => runIn(started, words, surroundings));
    last = ended.catch(() => undefined);
    return ended;
  };
}

async function runIn(
  child: ChildProcess,
  words: readonly string[],
  { folder = process.cwd(), environment = {}, limits = {}, input }: Surroundings,
): Promise<Ended> {
  if (input !== undefined) child.stdin?.end(input);
  child.send({ words, folder, environment, limits });
  const [[output, status], [errors]] = await Promise.all([
    textsOf(child.stdout, 2),
    textsOf(child.stderr, 1),
  ]);
  return { status: Number(status), output, errors };
}

/** So many texts, each of which ends with a zero. */
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
