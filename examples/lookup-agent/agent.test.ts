// Tests of the market, of the agent's conversations, and of the whole example with scripted models.
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  ChatCompletion,
  ChatCompletionRequest,
  Message,
  RolloutCreate,
  SupervisedJobCreate,
  ToolCall,
  TrainingJobCreate,
  TrajectoryLog,
} from "../../src/apps/client/api.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import type { RecordedTrajectory } from "../../src/apps/client/recording/recorded-trajectory.ts";
import { routedFetch, succeedingJobs } from "../../src/apps/client/testing/fake-fetch.ts";
import { systemClock } from "../../src/base/domain/clock.ts";
import { seededRandom } from "../../src/base/domain/random.ts";
import { demonstrate } from "./demonstrations.ts";
import { isRight, rewardOf, runEpisode } from "./episode.ts";
import { learn, type LearnOptions } from "./learn.ts";
import { answerCall, openMarket, tools, type Market } from "./market.ts";
import { drawQuestion, drawQuestions, sorts, type Question } from "./questions.ts";
import { linesOf, summaryLines } from "./screen.ts";

const market = openMarket(seededRandom("test"));
type Called = NonNullable<ToolCall["function"]>;
const call = (name: string, values: unknown): Called => ({
  name,
  arguments: typeof values === "string" ? values : JSON.stringify(values),
});

test("tools answer correct calls, and return an error for any other call", () => {
  const tiny: Market = new Map([["pear", { price: 4, stock: 30 }]]);
  const cases: readonly (readonly [Called, string])[] = [
    [call("price", { item: "pear" }), "4"],
    [call("stock", { item: "pear" }), "30"],
    [call("times", { a: 3, b: 4 }), "12"],
    [call("plus", { a: 3, b: 4 }), "7"],
    [call("minus", { a: 3, b: 4 }), "-1"],
    [call("price", { item: "shoe" }), "not found"],
    [call("price", {}), "not found"],
    [call("plus", { a: "3", b: 4 }), "error: a and b must be numbers"],
    [call("toString", {}), "error: no such tool"],
    [call("price", "{broken"), "error: the arguments are no object"],
    [call("price", "[1]"), "error: the arguments are no object"],
  ];
  for (const [given, expected] of cases) assert.equal(answerCall(tiny, given), expected);
});

test("the plan of each question leads to its answer with the tools that exist", () => {
  const random = seededRandom("test", "questions");
  for (const sort of sorts) {
    for (let count = 0; count < 50; count++) {
      const question = drawQuestion(random, market, sort);
      for (const { tool, arguments: values, result } of question.plan) {
        assert.ok(tools.some(({ function: described }) => described?.name === tool));
        assert.equal(answerCall(market, call(tool, values)), String(result), question.text);
      }
      assert.equal(question.answer, String(question.plan.at(-1)?.result));
    }
  }
});

function textOf(message: Message | undefined): string {
  return typeof message?.content === "string" ? message.content : "";
}

type Speak = (body: ChatCompletionRequest) => Message;

/** Returns a chat completion with this message. */
function answerOf(message: Message): ChatCompletion {
  const tokens = { token_ids: [2], prompt_token_ids: [1] };
  const choice = { index: 0, message: { tool_calls: [], ...message }, finish_reason: "stop", ...tokens };
  // Safe cast: the client reads only these fields.
  return { choices: [choice] } as unknown as ChatCompletion;
}

/** Returns a model whose next message is the result of `speak`. */
function modelOf(speak: Speak): Pick<RecordedTrajectory, "chat"> {
  return { chat: async (body) => answerOf(speak(body)) };
}

/** Returns a function that answers as the expert's demonstration of the question does, turn by turn. */
function knowing(questions: readonly Question[]): Speak {
  return ({ messages }) => {
    const question = questions.find(({ text }) => text === messages[0]?.content);
    return demonstrate(question ?? questions[0])[messages.length];
  };
}

test("an agent that follows the plan earns the full reward in as many turns as the plan has calls", async () => {
  const questions = drawQuestions(seededRandom("test", "known"), market, { count: 12 });
  for (const question of questions) {
    const episode = await runEpisode(modelOf(knowing(questions)), market, question);
    assert.equal(rewardOf(episode), 1);
    assert.ok(isRight(episode));
    assert.deepEqual(
      episode.messages.map(({ role }) => role),
      ["user", ...question.plan.flatMap(() => ["assistant", "tool"]), "assistant"],
    );
  }
});

test("half of the reward is for the facts found, and unnecessary calls reduce it", async () => {
  const question = drawQuestion(seededRandom("test", "half"), market, "several");
  const [first, second] = question.plan;
  const says = (...said: readonly (string | Called)[]): Pick<RecordedTrajectory, "chat"> => {
    let turn = 0;
    return modelOf(() => {
      const next = said[Math.min(turn++, said.length - 1)];
      if (typeof next === "string") return { role: "assistant", content: next };
      return {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: next }],
      };
    });
  };
  const rewardFor = async (...said: readonly (string | Called)[]): Promise<number> =>
    rewardOf(await runEpisode(says(...said), market, question));
  const [one, two] = [call(first.tool, first.arguments), call(second.tool, second.arguments)];
  assert.equal(await rewardFor(question.answer), 0.5);
  assert.equal(await rewardFor(one, "no idea"), 0.25);
  assert.equal(await rewardFor(two, one, "no idea"), 0.25, "in the wrong order one of them is luck");
  assert.equal(await rewardFor(one, one, two, question.answer), 0.95);
  assert.equal(await rewardFor(call("price", "{broken")), 0, "what cannot be shown again ends it");
  const endless = await runEpisode(says(one), market, question);
  assert.equal(endless.answer, null);
  assert.equal(endless.results.length, 5);
  assert.ok(Math.abs(rewardOf(endless) - 0.1) < 1e-9);
});

const rollouts = "/v1/preview/models/m/rollouts";

/** A server whose model gives up at first. After its first job, it follows the plan of each question. */
class LearningServer {
  readonly jobs: string[] = [];
  readonly asked = new Set<string>();
  readonly demonstrated: string[] = [];
  /** Messages and the last Choice of a rollout of each group that a job trained on, as JSON. */
  readonly trained: string[] = [];
  readonly client = new Hone({
    baseUrl: "http://host",
    fetch: routedFetch({
      ...succeedingJobs,
      "GET /health": () => ({ status: "ok", models: { b: "loaded" } }),
      "GET /v1/preview/training-jobs/*": (_, [id = ""]) => {
        return { id, state: "succeeded", result_step: Number(id.slice("job-".length)), warnings: [] };
      },
      "GET /v1/preview/models/*/metrics": () => ({ data: [], last_id: "", has_more: false }),
      "GET /v1/preview/models/*/checkpoints": () => ({
        data: [{ step: this.jobs.length, metrics: {} }],
        last_id: "",
        has_more: false,
      }),
      "PUT /v1/preview/models/*/checkpoints/*/pin": () => ({}),
      "DELETE /v1/preview/models/*/checkpoints/*/pin": () => ({}),
      "POST /v1/preview/models/*/log": ({ split, trajectory_groups: groups }: TrajectoryLog) => {
        const logged = groups.flatMap(({ trajectories }) => trajectories);
        const right = logged.filter(({ metrics }) => metrics?.["right"] === true).length / logged.length;
        return { metrics: { [`${split}/right`]: right } };
      },
      "POST /v1/preview/models": (body: object) => ({ id: "m", entity: "e", ...body }),
      "POST /v1/preview/sft-training-jobs": ({ training_data: lessons }: SupervisedJobCreate) => {
        this.demonstrated.push(...(lessons ?? []).map(({ messages: [question] }) => textOf(question)));
        return { id: `job-${this.jobs.push("supervised")}` };
      },
      "POST /v1/preview/training-jobs": ({ rollout_ids: ids }: TrainingJobCreate) => {
        const groups = new Map((ids ?? []).map((id) => [this.#groups[Number(id)], this.#items[Number(id)]]));
        this.trained.push(...[...groups.values()].map((items) => JSON.stringify(items)));
        return { id: `job-${this.jobs.push(`${groups.size} groups`)}` };
      },
      [`POST ${rollouts}`]: ({ group }: RolloutCreate) => {
        this.#groups.push(group ?? null);
        return { rollout_id: String(this.#items.push([]) - 1), api_key: "k" };
      },
      [`POST ${rollouts}/*/finish`]: () => ({}),
      [`POST ${rollouts}/*/v1/chat/completions`]: (body: ChatCompletionRequest, [id]) => {
        const answer = answerOf(this.#answer(body));
        this.#items[Number(id)] = [...body.messages, ...answer.choices];
        return answer;
      },
      [`POST ${rollouts}/*/cancel`]: () => ({}),
      [`GET ${rollouts}/*/trajectories`]: (_, [id]) => ({
        trajectories: [{ messages_and_choices: this.#items[Number(id)] }],
        calls_without_tokens: 0,
      }),
    }),
  });

  #answer(body: ChatCompletionRequest): Message {
    const step = Number(/:step(\d)$/.exec(body.model ?? "")?.[1]);
    assert.equal(step, this.jobs.length, "the newest version answers");
    assert.equal(body.temperature, 1);
    const question = this.#question(body);
    this.asked.add(question.text);
    // The model gives up immediately in every second attempt at a question, except for test questions.
    const { length } = body.messages;
    const tryNumber = (this.#begun.get(question) ?? 0) + (length === 1 ? 1 : 0);
    this.#begun.set(question, tryNumber);
    const givesUp = length === 1 && tryNumber % 2 === 0 && !this.#tests.includes(question);
    return step === 0 || givesUp ? { role: "assistant", content: "?" } : demonstrate(question)[length];
  }

  /** Messages and the last Choice of each rollout. */
  readonly #items: (readonly object[])[] = [];
  /** Name of each rollout's group. */
  readonly #groups: (string | null)[] = [];
  /** Number of attempts that were started, by question. */
  readonly #begun = new Map<Question, number>();
  readonly #market = openMarket(seededRandom("market", 3));
  readonly #tests = drawQuestions(seededRandom("tests", 3), this.#market, { count: 36 });
  readonly testTexts: ReadonlySet<string> = new Set(this.#tests.map(({ text }) => text));
  readonly #tried = [0, 1].flatMap((round) =>
    drawQuestions(seededRandom("round", 3, round), this.#market, { count: 6, except: this.testTexts }),
  );
  #question({ messages: [first] }: ChatCompletionRequest): Question {
    const found = [...this.#tests, ...this.#tried].find(({ text }) => text === first?.content);
    if (found !== undefined) return found;
    throw new Error(`a question from nowhere: ${textOf(first)}`);
  }
}

test("the agent is taught, tries, and is trained on groups with different rewards, but never on test questions", async () => {
  const server = new LearningServer();
  const settings: LearnOptions = {
    baseModel: "b",
    project: "p",
    name: "n",
    seed: 3,
    demonstrationCount: 12,
    demonstrationEpochs: 1,
    supervisedRate: 0.01,
    roundCount: 2,
    questionCount: 6,
    groupSize: 4,
    temperature: 1,
    reinforcementRate: 0.01,
    parallel: 5,
  };
  const lines: string[] = [];
  const { points } = await learn(server.client, systemClock, settings, (event) =>
    lines.push(...linesOf(event)),
  );
  assert.deepEqual(
    points.map(({ stage, sampledReward, testReward, testRight }) => [
      stage,
      sampledReward,
      testReward,
      testRight,
    ]),
    [
      ["base", null, 0, 0],
      ["taught", null, 1, 1],
      [1, 0.5, 1, 1],
      [2, 0.5, 1, 1],
    ],
  );
  assert.deepEqual(server.jobs, ["supervised", "6 groups", "6 groups"]);
  assert.ok(server.testTexts.size > 30);
  for (const text of server.testTexts) {
    assert.ok(server.asked.has(text), text);
    assert.ok(!server.demonstrated.includes(text), text);
    assert.ok(!server.trained.some((trajectory) => trajectory.includes(text)), text);
  }
  assert.equal(lines.length, 2 * points.length + 2, "a line and a test of each, and a try of each round");
  assert.match(lines[4], /^round 1 .*test 1\.00 {2}right 100 % {2}tries 0\.50/);
  assert.match(summaryLines(points).at(-1) ?? "", /0\.00 at first, 1\.00 taught .* 1\.00 after 2 rounds/);
});
