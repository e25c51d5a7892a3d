// Tests the client's training loop on a real server. Its rounds create versions, are validated, resume after a stop,
// and can be judged by a model.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { Hone } from "../src/apps/client/hone.ts";
import { judge } from "../src/apps/client/judging/judge.ts";
import type { RecordedTrajectory } from "../src/apps/client/recording/recorded-trajectory.ts";
import { train } from "../src/apps/client/training/train.ts";
import type { TrainOptions } from "../src/apps/client/training/train-options.ts";
import { inProof } from "../src/base/domain/testing/search.ts";
import { serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

let hone: Hone;
let environment: NodeJS.ProcessEnv;
serverOfFile({
  flags: toolModel,
  onStart: ({ url, apiKey }) => {
    environment = { ...process.env, HONE_BASE_URL: url, HONE_API_KEY: apiKey ?? "" };
    hone = new Hone({ baseUrl: url, apiKey });
  },
});

const tasks = ["red", "green"];

async function answer(content: string, { openai, model }: RecordedTrajectory): Promise<string> {
  const { choices } = await openai.chat.completions.create({
    model,
    messages: [{ role: "user", content }],
    max_completion_tokens: 5,
  });
  return choices[0]?.message.content ?? "";
}

/** The model's weights are random, so the reward is for any letter that some answers have and others lack. */
const rewardOf = (text: string): number => text.split("e").length / 10;

const options = {
  tasks,
  rollout: async (task: string, trajectory: RecordedTrajectory) => rewardOf(await answer(task, trajectory)),
  groupSize: 4,
  request: { temperature: 1.2 },
  config: { learning_rate: 2e-4 },
} satisfies TrainOptions<string>;

test("rounds make versions and pin the best one, and a later call continues after them", async () => {
  const model = await hone.model("loop/rounds", { base: "tiny" });
  const validation = { tasks, request: { temperature: 0 } };
  const first = await train(model, { ...options, rounds: 2, validation });
  assert.deepEqual(
    first.rounds.map(({ round, step, newStep, rollouts, failures }) => ({
      round,
      step,
      newStep,
      rollouts,
      failures,
    })),
    [
      { round: 0, step: 0, newStep: 1, rollouts: 8, failures: 0 },
      { round: 1, step: 1, newStep: 2, rollouts: 8, failures: 0 },
    ],
  );
  const [round] = first.rounds;
  assert.equal(round?.metrics["train/reward"], round?.reward);
  assert.equal(first.model, model.at(2));
  const checkpoints = await model.checkpoints().all();
  const validated = checkpoints.map(({ metrics }) => metrics["val/reward"] ?? -1);
  assert.equal(validated.length, 3);
  const best = validated.indexOf(Math.max(...validated));
  assert.deepEqual([first.best?.step, first.best?.reward], [best, validated[best]]);
  assert.deepEqual(
    checkpoints.filter(({ pinned }) => pinned).map(({ step }) => step),
    best === 0 ? [] : [best],
  );
  const second = await train(model, { ...options, rounds: 3, validation });
  assert.deepEqual(
    second.rounds.map((one) => [one.round, one.step, one.newStep]),
    [[2, 2, 3]],
  );
  assert.ok((second.best?.reward ?? -1) >= (first.best?.reward ?? Infinity), "the best of both calls");
  const third = await train(model, { ...options, rounds: 3 });
  assert.deepEqual([third.rounds, third.step], [[], 3]);
});

test("a run with the same seed samples the same answers, and resumes after a stop", inProof, async () => {
  const reasons = new Error("enough");
  const [one, other] = await Promise.all([
    hone.model("loop/straight", { base: "tiny" }),
    hone.model("loop/stopped", { base: "tiny" }),
  ]);
  /** Returns options with which a round's rollouts append their answers to `answers`, with task and seed. */
  const noting = (answers: string[]): typeof options => ({
    ...options,
    rollout: async (task, trajectory) => {
      const text = await answer(task, trajectory);
      answers.push(`${task} ${trajectory.seed}: ${text}`);
      return rewardOf(text);
    },
  });
  const [straight, stopped]: [string[], string[]] = [[], []];
  await train(one, { ...noting(straight), rounds: 1 });
  const stop = new AbortController();
  const stopping = train(other, {
    ...noting(stopped),
    rounds: 2,
    signal: stop.signal,
    onEvent: ({ type }) => {
      if (type === "job-started") stop.abort(reasons);
    },
  });
  await assert.rejects(stopping, reasons);
  assert.deepEqual(stopped.toSorted(), straight.toSorted());
  assert.equal(new Set(stopped).size, 8);
  const rest = await train(other, { ...noting(stopped), rounds: 2 });
  assert.deepEqual(
    rest.rounds.map(({ round, step, newStep }) => [round, step, newStep]),
    [[1, 1, 2]],
  );
  assert.equal(stopped.length, 16, "no round is sampled twice");
});

test("a model on the server judges all rollouts of a task together", async () => {
  const model = await hone.model("loop/judged", { base: "tiny" });
  const { rounds } = await train(model, {
    ...options,
    rounds: 1,
    rollout: async (task, trajectory) => {
      await answer(task, trajectory);
      return { metrics: { asked: true } };
    },
    judge: judge({ model: "hone-tiny", rubric: "Says maybe.", mode: "score", request: { temperature: 2 } }),
  });
  const [round] = rounds;
  assert.deepEqual([round?.rollouts, round?.failures], [8, 0]);
  assert.ok((round?.rewardMin ?? -1) >= 0 && (round?.rewardMax ?? 2) <= 1 && (round?.spread ?? 0) > 0);
  assert.equal(round?.metrics["train/asked"], 1);
});

test("without a terminal, each round prints a line with warnings and failures, and the run reports how it ended", async () => {
  const client = new URL("../src/apps/client/index.js", import.meta.url);
  const program = `import { Hone, train } from ${JSON.stringify(client.href)};
    const model = await new Hone().model("loop/piped", { base: "tiny" });
    let count = 0;
    const options = {
      tasks: ["a", "b"],
      groupSize: 4,
      rounds: 2,
      config: { learning_rat: 1e-4 },
      rollout: async (task, { chat }) => {
        const own = (count += 1);
        if (own % 8 === 0) throw new Error("no luck");
        await chat({ messages: [{ role: "user", content: task }], max_completion_tokens: 3 });
        return own % 2;
      },
    };
    await train(model, options);
    console.error("again");
    await train(model, options);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (text += String(piece)));
  const [code] = await once(child, "close");
  assert.equal(code, 0, text);
  const [first = "", again = ""] = text.split("\nagain\n");
  const lines = first.trim().split("\n");
  assert.match(lines[0] ?? "", /^trains \S+\/loop\/piped from version 0, 2 rounds$/);
  for (const round of [0, 1]) {
    const at = lines.findIndex((line) => line.startsWith(`round  ${round}  `));
    assert.match(
      lines[at] ?? "",
      /reward 0\.\d{3} ± 0\.\d{3} .* moved -?\d\.\d{3}  1 failed  \d of 7 answers cut off/,
    );
    assert.equal(lines[at + 1], "  failed once: no luck");
    assert.match(
      lines.slice(at).join("\n"),
      /^  warning: learning_rat was sent and is not applied: this server has no option/m,
    );
  }
  assert.match(lines.at(-1) ?? "", /^(Learned|Little was learned|It got worse) in 2 rounds: mean reward 0\./);
  assert.ok(!text.includes("\u001b") && !text.includes("\r"));
  assert.match(again, /^Nothing was done: all 2 rounds of this run were done before, .* Ask for more rounds/);
  assert.equal(again.trim().split("\n").length, 1);
});
