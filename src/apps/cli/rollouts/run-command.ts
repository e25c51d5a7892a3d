// Runs the programs of `hone rollout`: the agent, and a program that gives the reward.
import { type ChildProcess, spawn } from "node:child_process";
import type { CreatedRollout } from "../../client/api.ts";

export interface ProgramEnd {
  /** Exit status; null if a signal ended the program. */
  readonly status: number | null;
  /** Text on standard output; empty if the output was passed on. */
  readonly output: string;
}

export interface RunOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `pass`: passes the program's standard output on. `error`: writes it to standard error. `read`: returns it. */
  readonly output: "pass" | "error" | "read";
  readonly signal: AbortSignal;
}

/** Maximum length in characters of the output of a program that gives a reward. */
const outputMax = 1_000_000;

/**
 * Returns an agent's environment variables: the given ones, plus the rollout's URLs and key in the variables that
 * OpenAI's and Anthropic's clients read. Removes `ANTHROPIC_API_KEY`, because it would override the rollout's key.
 */
export function agentEnvironment(
  environment: RunOptions["environment"],
  { rollout_id: id, api_key: key, base_url: baseUrl, anthropic_base_url: anthropicBaseUrl }: CreatedRollout,
): RunOptions["environment"] {
  return {
    ...environment,
    HONE_ROLLOUT_ID: id,
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: anthropicBaseUrl,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_API_KEY: undefined,
  };
}

/**
 * Runs a program to its end.
 *
 * @throws Error if the program cannot be started; the signal's reason if it aborts, after the program has ended
 */
export function runProgram(
  [command, ...words]: readonly [string, ...string[]],
  { environment, output, signal }: RunOptions,
): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const target = { pass: "inherit", error: 2, read: "pipe" } as const;
  const program = spawn(command, words, { env: environment, stdio: ["inherit", target[output], "inherit"] });
  return ended(program, signal);
}

function ended(program: ChildProcess, signal: AbortSignal): Promise<ProgramEnd> {
  const stop = (): void => void program.kill("SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  let text = "";
  program.stdout?.setEncoding("utf8").on("data", (part: string) => {
    if (text.length < outputMax) text += part;
  });
  return new Promise<ProgramEnd>((resolve, reject) => {
    program.once("error", reject);
    program.once("close", (status) => {
      if (signal.aborted) reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
      else resolve({ status, output: text });
    });
  }).finally(() => signal.removeEventListener("abort", stop));
}
