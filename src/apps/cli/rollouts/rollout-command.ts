// `hone rollout`: runs an unmodified agent in a rollout and sends its reward; lists rollouts.
import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError } from "commander";
import { invalid } from "../../../base/domain/service-error.ts";
import { programEnvironment } from "../../server/config.ts";
import type { CreatedRollout, Rollout } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { addConnectionFlags, connect, type ConnectionFlags, printResult, printRows } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findNamed } from "../names/named-version.ts";
import { readReward, type Reward } from "./read-reward.ts";
import { agentEnvironment, type RunOptions, runProgram } from "./run-command.ts";

interface RunFlags extends ConnectionFlags, JsonFlag {
  readonly model: string;
  readonly task?: string;
  readonly group?: string;
  readonly split?: string;
  readonly expires?: number;
  readonly followVersions?: boolean;
  readonly rewardCommand?: string;
  readonly rewardFile?: string;
}

export function addRolloutCommand(program: Command): void {
  const rollout = program
    .command("rollout")
    .description("Run unmodified agents whose model calls are recorded for training.");
  addConnectionFlags(
    rollout
      .command("run")
      .description(
        "Run a command as an agent in a rollout, and finish the rollout with its reward. Without --reward-command and --reward-file, the reward is 1 if the command exits with 0, otherwise 0.",
      ),
  )
    .argument("<command...>", "the command and its arguments, after --")
    .requiredOption("--model <name>", "trained model that answers every call of the agent")
    .option("--task <text>", "task of the rollout")
    .option("--group <name>", "group of rollouts whose rewards are compared with each other")
    .option("--split <name>", "split of the rollout (default train)")
    .option("--expires <seconds>", "seconds after which the rollout expires (default 3600)", wholeNumber)
    .option("--follow-versions", "answer each call with the version that is newest then")
    .option("--reward-command <command>", "shell command whose output ends with the reward")
    .option("--reward-file <file>", "file that contains the reward once the command has ended")
    .option("--json", "print the finished rollout as JSON; the agent then writes to standard error")
    .action((words: [string, ...string[]], flags: RunFlags) => runRollout(words, flags));
  addConnectionFlags(rollout.command("list").description("List the newest rollouts of a model."))
    .argument("<model>", "name of the trained model")
    .option("--json", "print JSON")
    .action(async (name: string, flags: ConnectionFlags & JsonFlag) => {
      const hone = connect(flags);
      const { model } = await findNamed(hone, name);
      const { data } = await hone.rollouts.list(model.id).first();
      const columns = ["rollout_id", "state", "group", "version", "reward", "call_count", "created_at"];
      printRows(
        data.map((one) => ({ ...one })),
        { ...flags, columns },
      );
    });
}

async function runRollout(words: readonly [string, ...string[]], flags: RunFlags): Promise<void> {
  if (flags.rewardCommand !== undefined && flags.rewardFile !== undefined)
    throw invalid("--reward-command and --reward-file both give the reward; use one of them.");
  const hone = connect(flags);
  const { model } = await findNamed(hone, flags.model);
  const rollout = await hone.rollouts.create(model.id, {
    ...(flags.task === undefined ? {} : { task: flags.task }),
    group: flags.group ?? null,
    split: flags.split ?? null,
    expires: flags.expires ?? null,
    follow_new_versions: flags.followVersions ?? null,
  });
  const { rollout_id: id, version } = rollout;
  process.stderr.write(`rollout ${id} of ${rollout.model}, version ${version}\n`);
  let reward: Reward;
  try {
    reward = await rewardOf(words, flags, rollout);
  } catch (error) {
    await cancel(hone, rollout);
    throw error;
  }
  const finished = await hone.rollouts.finish(model.id, id, reward);
  printResult(finished, summaryOf(finished), flags);
}

/**
 * Runs the agent, and then reads the reward.
 *
 * @throws Error if a program cannot be started or there is no reward
 */
async function rewardOf(
  words: readonly [string, ...string[]],
  { json = false, rewardCommand, rewardFile }: RunFlags,
  rollout: CreatedRollout,
): Promise<Reward> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new Error("The rollout was interrupted, and is cancelled."));
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, stop);
  const environment = agentEnvironment(programEnvironment(), rollout);
  const options: RunOptions = { environment, output: json ? "error" : "pass", signal: stopping.signal };
  try {
    const { status } = await runProgram(words, options);
    process.stderr.write(`${words[0]} ended with status ${status ?? "unknown"}\n`);
    if (rewardFile !== undefined)
      return readReward(await readFile(rewardFile, "utf8"), `The file ${rewardFile}`);
    if (rewardCommand === undefined) return { reward: status === 0 ? 1 : 0, metrics: {} };
    const rewarded = await runProgram(shellWords(rewardCommand), { ...options, output: "read" });
    if (rewarded.status !== 0) throw invalid(`The reward command ended with status ${rewarded.status}.`);
    return readReward(rewarded.output, "The output of the reward command");
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, stop);
  }
}

function shellWords(command: string): readonly [string, ...string[]] {
  return process.platform === "win32" ? ["cmd.exe", "/d", "/s", "/c", command] : ["/bin/sh", "-c", command];
}

/** Cancels a rollout after an error. If that fails too, the rollout expires by itself. */
async function cancel(hone: Hone, { model_id: modelId, rollout_id: id }: CreatedRollout): Promise<void> {
  const isCancelled = await hone.rollouts.cancel(modelId, id).then(
    () => true,
    () => false,
  );
  process.stderr.write(isCancelled ? `rollout ${id} is cancelled\n` : `rollout ${id} expires by itself\n`);
}

function summaryOf({ rollout_id: id, reward, call_count: calls, token_count: tokens }: Rollout): string {
  return `rollout ${id} finished: reward ${reward}, ${calls} calls, ${tokens} tokens`;
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number.");
}
