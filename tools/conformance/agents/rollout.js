// Runs an agent once with `hone rollout run` in an empty folder, and returns the recorded rollout.
import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const deadlineMs = 300_000;
const rewardCommand = "test -f yes.txt && echo 1 || echo 0";

/**
 * Returns a function that runs an agent in a group. That function returns the finished rollout with its recorded calls.
 */
export function agentRunner({ root, folder, hone, model, task }) {
  const work = join(folder, "work");
  return async (agent, group) => {
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work);
    const { HOME: _, ANTHROPIC_API_KEY: __, ...inherited } = process.env;
    const words = ["--url", hone.baseUrl, "--model", "conformance/agent", "--task", task, "--group", group];
    const command = [...words, "--json", "--reward-command", rewardCommand, "--", ...agent.command(task)];
    const child = spawn(process.execPath, [join(root, "bin", "hone.js"), "rollout", "run", ...command], {
      cwd: work,
      // OpenCode uses the folder in PWD as its working folder.
      env: { ...inherited, HOME: join(folder, "home"), PWD: work, ...agent.environment },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: deadlineMs,
    });
    const [output, errors, status] = await ended(child);
    if (status !== 0) throw new Error(`${group} ended with status ${status}:\n${errors.slice(-3000)}`);
    const { rollout_id: id, reward } = JSON.parse(output);
    const rollout = await hone.rollouts.get(model.id, id);
    if (rollout.calls.length === 0) throw new Error(`${group} made no call:\n${errors.slice(-3000)}`);
    const calls = [];
    for (const call of rollout.calls) calls.push(await hone.recordings.get(call.request_id));
    console.log(`${group}: ${calls.length} calls, reward ${reward}`);
    return { ...rollout, calls };
  };
}

function ended(child) {
  return new Promise((resolve, reject) => {
    const texts = ["", ""];
    for (const [index, stream] of [child.stdout, child.stderr].entries())
      stream.setEncoding("utf8").on("data", (part) => (texts[index] += part));
    child.once("error", reject);
    child.once("close", (status) => resolve([...texts, status]));
  });
}
