// Tests of the training loop against the server's real routes and in-memory stores: counts, logs, jobs and resuming.
// The model always gives the same answer; rollout functions decide the rewards.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keys } from "../../../api/http/testing/fake-server.ts";
import { Hone } from "../hone.ts";
import type { HoneError } from "../hone-error.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import { type Place, withModel } from "../testing/trained-place.ts";
import { Model as TrainedModel, type Model } from "../trained-model.ts";
import { train } from "./train.ts";
import type { TrainEvent } from "./train-event.ts";
import type { TrainOptions } from "./train-options.ts";

async function say({ openai, model }: RecordedTrajectory, content: string): Promise<void> {
  await openai.chat.completions.create({ model, messages: [{ role: "user", content }] });
}

/**
 * Returns a rollout function, and the tasks with which it was called. By default, rewards differ within every group.
 */
function rollouts(rewardOf: (task: string, index: number) => number = (_, index) => index) {
  const counts = new Map<string, number>();
  const seen: string[] = [];
  const rollout = async (task: string, trajectory: RecordedTrajectory): Promise<number> => {
    const index = counts.get(task) ?? 0;
    counts.set(task, index + 1);
    seen.push(task);
    await say(trajectory, task);
    return rewardOf(task, index);
  };
  return { rollout, seen };
}

const base = { groupSize: 2, rounds: 1, concurrency: 1, display: false } as const;

test("cycles through tasks in a seeded order, and sends all groups to the job", () =>
  withModel(async ({ model, trained }) => {
    const { rollout, seen } = rollouts((task, index) => (task === "c" ? 1 : index % 2));
    const options = { ...base, tasks: ["a", "b", "c"], rollout, tasksPerRound: 2, rounds: 3 };
    const { rounds, step, endedBy } = await train(model, options);
    assert.equal(endedBy, "rounds");
    assert.equal(step, 3);
    const order = seen.filter((_, index) => index % 2 === 0);
    assert.deepEqual(order.slice(0, 3).toSorted(), ["a", "b", "c"]);
    assert.deepEqual(order.slice(3).toSorted(), ["a", "b", "c"]);
    const alike = [0, 1, 2].map(
      (round) => order.slice(2 * round, 2 * round + 2).filter((task) => task === "c").length,
    );
    assert.deepEqual(
      rounds.map(({ groups, groupsWithoutSpread }) => [groups, groupsWithoutSpread]),
      alike.map((count) => [2, count]),
    );
    // The job also names groups without reward spread, so that its means describe the whole round; the server skips
    // these groups.
    const sorted = (groups: Place["trained"][number]) => groups.map((rewards) => rewards.join()).toSorted();
    assert.deepEqual(
      trained.map(sorted),
      alike.map((count) => ["0,1", count === 0 ? "0,1" : "1,1"]),
    );
    const again = rollouts();
    await train(model, { ...options, rollout: again.rollout, run: "again" });
    assert.deepEqual(again.seen, seen);
    const other = rollouts();
    await train(model, { ...options, rollout: other.rollout, run: "other", seed: 2 });
    assert.notDeepEqual(other.seen, seen);
  }));

test("takes few steps per round by default, at a learning rate that depends on the previous version", () =>
  withModel(async (place) => {
    const options = { ...base, tasks: ["a", "b"], rounds: 2 };
    place.versionMetrics = { "loss/learning_rate": 1e-3, "loss/kl_div": 0.192 };
    await train(place.model, { ...options, rollout: rollouts().rollout });
    // A resumed run and a run with another name both derive the rate from the newest version.
    await train(place.model, { ...options, rollout: rollouts().rollout, rounds: 3 });
    assert.deepEqual(place.settings, [
      { steps: 2, learning_rate: 5e-4 },
      { steps: 2, learning_rate: 2.5e-4 },
      { steps: 2, learning_rate: 2.5e-4 },
    ]);
    const chosen = { learning_rate: 1e-4 };
    await train(place.model, { ...options, rollout: rollouts().rollout, run: "chosen", config: chosen });
    assert.deepEqual(place.settings.slice(3), [chosen, chosen]);
  }));

test("logs a round with its numbers, failures and tasks", () =>
  withModel(async ({ model }) => {
    const { rollout } = rollouts();
    const result = await train(model, {
      ...base,
      groupSize: 4,
      tasks: [{ id: "first" }, { id: "second" }],
      rollout: async ({ id }, trajectory) => {
        trajectory.log(`about ${id}`);
        const reward = await rollout(id, trajectory);
        if (reward === 3) throw new Error("no luck");
        return { reward, metrics: { right: reward > 0 }, metadata: { id } };
      },
    });
    const [round] = result.rounds;
    assert.deepEqual(
      [round?.reward, round?.rewardMin, round?.rewardMax, round?.rollouts, round?.failures],
      [1, 0, 2, 6, 2],
    );
    assert.ok(Math.abs((round?.spread ?? 0) - Math.sqrt(2 / 3)) < 1e-9);
    assert.deepEqual(round?.failureReasons, [{ message: "no luck", count: 2 }]);
    const metrics = round?.metrics ?? {};
    assert.deepEqual(
      [
        metrics["train/reward"],
        metrics["train/exception_rate"],
        metrics["train/right"],
        metrics["train/round"],
      ],
      [1, 0.25, 2 / 3, 0],
    );
    assert.equal(metrics["data/cum/num_unique_scenarios"], 2);
    const [stored] = await model.trajectories({ split: "train", metadata: ["id=second"] }).all();
    const { rollout_id: rolloutId, ...metadata }: JsonObject = Object(stored?.["metadata"]);
    const {
      state,
      reward,
      metrics: named,
      job_id: jobId,
    } = await model.hone.rollouts.get(model.id, String(rolloutId));
    assert.deepEqual(
      [state, reward, named],
      ["finished", stored?.["reward"], { right: reward !== 0, round: 0 }],
    );
    assert.equal(jobId, round?.jobId);
    assert.deepEqual(
      [metadata, stored?.["logs"], stored?.["initial_policy_version"], stored?.group_metadata],
      [{ id: "second" }, ["about second"], 0, { scenario_id: "second" }],
    );
  }));

test("reports the reason for each kind of rollout failure", () =>
  withModel(async ({ model }) => {
    const bad: Readonly<Record<string, (trajectory: RecordedTrajectory) => unknown>> = {
      "made no recorded call": () => 1,
      "returned NaN; it must return a finite number, or { reward } with one.": async (trajectory) => {
        await say(trajectory, "a");
        return NaN;
      },
      "returned a reward of undefined; it must": async (trajectory) => {
        await say(trajectory, "a");
        return {};
      },
      'returned the text "1"; it must return a finite number, or { reward } with one, such as 1 without quotes.':
        async (trajectory) => {
          await say(trajectory, "a");
          return "1";
        },
      "returned true; it must return a finite number, or { reward } with one, such as 1 for true.": async (
        trajectory,
      ) => {
        await say(trajectory, "a");
        return true;
      },
      "returned a reward of false; it must": async (trajectory) => {
        await say(trajectory, "a");
        return { reward: false };
      },
      "returned undefined; it must": (trajectory) => say(trajectory, "a"),
      "at once": () => {
        throw new Error("at once");
      },
    };
    const { rounds, step } = await train(model, {
      ...base,
      failuresMax: 1,
      tasks: Object.keys(bad),
      rollout: async (task, trajectory) => (await bad[task]?.(trajectory)) as number,
    });
    const [round] = rounds;
    assert.deepEqual(
      [step, round?.newStep, round?.reward, round?.rollouts, round?.failures],
      [0, null, null, 0, 2 * Object.keys(bad).length],
    );
    for (const reason of Object.keys(bad))
      assert.ok(
        round?.failureReasons.some(({ message, count }) => message.includes(reason) && count === 2),
        `${reason}: ${JSON.stringify(round?.failureReasons)}`,
      );
  }));

test("fails a rollout that times out, and aborts its signal", () =>
  withModel(async ({ model }) => {
    const reasons: unknown[] = [];
    const rollout = (_task: string, { signal }: RecordedTrajectory): Promise<number> =>
      new Promise(() => signal.addEventListener("abort", () => reasons.push(signal.reason)));
    const { rounds } = await train(model, {
      ...base,
      failuresMax: 1,
      rolloutTimeout: 20,
      tasks: ["a"],
      rollout,
    });
    const message = "The rollout took longer than 0.02 s (rolloutTimeout).";
    assert.deepEqual(rounds[0]?.failureReasons, [{ message, count: 2 }]);
    assert.equal(reasons.length, 2);
  }));

test("ends the run with the reasons and aborts other rollouts when too many of a round's rollouts fail", () =>
  withModel(async ({ model, trained }) => {
    const left: unknown[] = [];
    const rollout = async (task: number, { signal }: RecordedTrajectory): Promise<number> => {
      if (task < 3) throw new Error(`no ${task % 2 === 0 ? "bread" : "milk"}`);
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(left.push(signal.reason))),
      );
    };
    await assert.rejects(
      train(model, { ...base, groupSize: 3, concurrency: 99, tasks: [0, 1, 2, 3], rollout }),
      {
        name: "HoneError",
        code: "rollouts_failed",
        message: /^7 of 12 rollouts failed, .*failuresMax.* [0-9] times: no bread; [0-9] times: no milk$/,
      },
    );
    assert.equal(left.length, 3);
    assert.deepEqual(trained, []);
  }));

test("respects the limit on concurrent rollouts", () =>
  withModel(async ({ model }) => {
    let running = 0;
    let most = 0;
    const rollout = async (task: number, trajectory: RecordedTrajectory): Promise<number> => {
      most = Math.max(most, ++running);
      await say(trajectory, String(task));
      running -= 1;
      return Math.abs(trajectory.seed % 7);
    };
    await train(model, { ...base, groupSize: 4, concurrency: 3, tasks: [1, 2, 3], rollout });
    assert.equal(most, 3);
  }));

test("pins the version with the best validation, and stops a run without improvement", () =>
  withModel(async ({ model }) => {
    const rewards = [0.2, 0.5, 0.6, 0.6, 0.1, 0.9];
    const events: TrainEvent[] = [];
    const validated = async (task: string, trajectory: RecordedTrajectory) => {
      await say(trajectory, task);
      const step = Number(/step(\d+)$/.exec(trajectory.model)?.[1]);
      return task === "test" ? (rewards[step] ?? 0) : trajectory.seed;
    };
    const options: TrainOptions<string> = {
      ...base,
      tasks: ["a"],
      rounds: 9,
      rollout: validated,
      validation: { tasks: ["test"], patience: 2, minDelta: 0.05 },
      onEvent: (event) => void events.push(event),
    };
    const result = await train(model, options);
    assert.equal(result.endedBy, "patience");
    assert.deepEqual([result.step, result.best?.step, result.best?.reward], [4, 2, 0.6]);
    assert.equal(result.best?.model, model.at(2));
    assert.deepEqual(
      result.rounds.map(({ validation }) => [validation?.step, validation?.reward, validation?.isBest]),
      [1, 2, 3, 4].map((step) => [step, rewards[step], step < 3]),
    );
    const pinned = async () =>
      (await model.checkpoints().all()).filter((one) => one.pinned).map(({ step }) => step);
    assert.deepEqual(await pinned(), [2]);
    assert.deepEqual(
      (await model.trajectories({ split: "val" }).all()).map(({ step }) => step),
      [0, 1, 2, 3, 4],
    );
    const again = await train(model, options);
    assert.deepEqual([again.endedBy, again.rounds, again.best?.step], ["patience", [], 2]);
    const on = await train(model, { ...options, rounds: 5, validation: { tasks: ["test"], every: 3 } });
    assert.deepEqual([on.rounds.map(({ validation }) => validation?.reward), on.best?.step], [[0.9], 5]);
    assert.deepEqual(await pinned(), [5]);
  }));

/**
 * Starts a training of two rounds, and stops it at an event of the first. Trains again, and returns the rounds that the
 * second call ran.
 */
async function stoppedAt(
  place: Place,
  stops: (event: TrainEvent) => boolean,
  between: () => Promise<unknown> = async () => undefined,
): Promise<{ readonly rounds: readonly number[]; readonly sampled: number }> {
  const { model } = place;
  const stop = new AbortController();
  const { rollout, seen } = rollouts();
  const options = { ...base, tasks: ["a", "b"], rollout, rounds: 2 };
  const reason = new Error("stopped");
  const onEvent = (event: TrainEvent): void => (stops(event) ? stop.abort(reason) : undefined);
  await assert.rejects(train(model, { ...options, signal: stop.signal, onEvent }), reason);
  await between();
  place.runsJobs = true;
  const sampledBefore = seen.length;
  const { rounds } = await train(model, options);
  return { rounds: rounds.map(({ round }) => round), sampled: seen.length - sampledBefore };
}

test("repeats a round that was stopped during its rollouts", () =>
  withModel(async (place) => {
    const isThird = (event: TrainEvent): boolean => event.type === "rollout-ended" && event.ended === 3;
    assert.deepEqual(await stoppedAt(place, isThird), { rounds: [0, 1], sampled: 8 });
    assert.equal(place.trained.length, 2);
  }));

test("waits for the job of a round that was stopped after creating it", () =>
  withModel(async (place) => {
    place.runsJobs = false;
    const isJob = ({ type }: TrainEvent): boolean => type === "job-started";
    assert.deepEqual(await stoppedAt(place, isJob, place.runJob), { rounds: [1], sampled: 4 });
  }));

test("repeats the round of a cancelled job", () =>
  withModel(async (place) => {
    place.runsJobs = false;
    let jobId = "";
    const isJob = (event: TrainEvent): boolean => {
      if (event.type !== "job-started") return false;
      jobId = event.jobId;
      return true;
    };
    const between = () => place.model.hone.jobs.cancel(jobId);
    assert.deepEqual(await stoppedAt(place, isJob, between), { rounds: [0, 1], sampled: 8 });
  }));

test("makes a version from a round without training data, and reports why nothing was learned", () =>
  withModel(async ({ model, trained }) => {
    const { rollout, seen } = rollouts(() => 1);
    const options = { ...base, tasks: ["a"], rollout };
    const result = await train(model, options);
    const [round] = result.rounds;
    assert.deepEqual([round?.newStep, round?.groupsWithoutSpread, trained.length], [1, 1, 1]);
    assert.match(
      result.summary,
      /^Nothing was learned in 1 round: every answer earned 1\. The tasks are too hard/,
    );
    const again = await train(model, options);
    assert.match(
      again.summary,
      /^Nothing was done: all 1 round of this run were done before, and \S+:step1 is the newest/,
    );
    assert.equal(seen.length, 2);
    await train(model, { ...options, resume: false });
    assert.equal(seen.length, 4);
  }));

test("adds a judge's scores to rewards, and fails the rollouts of a group without a verdict", () =>
  withModel(async ({ model, trained }) => {
    const { rollout } = rollouts(() => 1);
    const { rounds } = await train(model, {
      ...base,
      tasks: ["a", "b", "c"],
      rollout,
      judge: async ({ task, rollouts: judged }) => {
        if (task === "b") throw new Error("cannot say");
        if (task === "c") return [1];
        return judged.map((_, index) => index / 2);
      },
      failuresMax: 0.7,
    });
    const [round] = rounds;
    assert.deepEqual([round?.rollouts, round?.failures, round?.reward], [2, 4, 1.25]);
    assert.ok(round?.failureReasons.some(({ message }) => /gave \[1\] for 2 rollouts/.test(message)));
    assert.deepEqual(
      trained.flat().map((rewards) => rewards.join()),
      ["1,1.5"],
    );
    const { data: all } = await model.hone.rollouts.list(model.id).first();
    assert.deepEqual(all.map(({ state }) => state).toSorted(), [
      ...Array.from({ length: 4 }, () => "cancelled"),
      "finished",
      "finished",
    ]);
  }));

test("refuses an option that is unknown or out of range before any rollout, and names it", () =>
  withModel(async ({ model }) => {
    const { rollout, seen } = rollouts();
    const good: TrainOptions<string> = { tasks: ["a"], rollout };
    const many = Array.from({ length: 5001 }, () => "a");
    const cases: readonly (readonly [string, Partial<TrainOptions<string>>])[] = [
      ["groupSize is 1; it must be a whole number of at least 2.", { groupSize: 1 }],
      ["rounds is 1.5; it must be a whole number of at least 0.", { rounds: 1.5 }],
      ["rounds is NaN; it must be a whole number of at least 0.", { rounds: Number("abc") }],
      ["concurrency is 0; it must be a whole number of at least 1.", { concurrency: 0 }],
      ["failuresMax is 2; it must be a number from 0 to 1.", { failuresMax: 2 }],
      ["tasks is []; it must be at least one task.", { tasks: [] }],
      [
        "A round has 5001 tasks with 2 rollouts each; a job trains on at most 10000",
        { ...base, tasks: many },
      ],
      ["serverTimeout is -1; it must be a whole number of at least 0.", { serverTimeout: -1 }],
      // Safe cast: simulates plain JavaScript, in which unknown options would arrive unnoticed.
      ["train has no option groupsize; did you mean groupSize?", { groupsize: 4 } as object],
      ["train has no option num_rounds; it has tasks, rollout, groupSize, ", { num_rounds: 4 } as object],
      [
        "validation.patience is 0; it must be a whole number of at least 1.",
        { validation: { tasks: ["a"], patience: 0 } },
      ],
    ];
    for (const [message, wrong] of cases)
      await assert.rejects(train(model, { ...good, ...wrong }), (error: HoneError) => {
        assert.deepEqual([error.name, error.code], ["HoneError", "invalid"]);
        return error.message.startsWith(message) || assert.fail(error.message);
      });
    assert.deepEqual(seen, []);
  }));

/**
 * Returns the run's model, whose requests pass through `between`. That function may answer a request itself, or make it
 * fail.
 */
function reachedBy(
  { model }: Place,
  between: (url: string, request: RequestInit) => Response | Error | null | Promise<Error>,
): {
  readonly model: Model;
  readonly waits: () => readonly string[];
  readonly onEvent: (event: TrainEvent) => void;
} {
  const reasons: string[] = [];
  const hone = new Hone({
    baseUrl: "http://host",
    apiKey: keys.member,
    retries: 0,
    fetch: async (url, request) => {
      const instead = await between(url, request);
      if (instead instanceof Error) throw instead;
      return instead ?? model.hone.fetch(url, request);
    },
  });
  const onEvent = (event: TrainEvent): void => {
    if (event.type === "server-awaited") reasons.push(event.reason);
  };
  return { model: new TrainedModel(hone, model.details), waits: () => reasons, onEvent };
}

const refused = (): Error =>
  new TypeError("fetch failed", {
    cause: Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:8000"), { code: "ECONNREFUSED" }),
  });

function unavailable(message: string, models: object = {}): Response {
  const error = { message, type: "server_error", param: null, code: "unavailable" };
  const body = { status: "unavailable", state: "starting", reason: message, models, error };
  return Response.json(body, { status: 503, headers: { "retry-after": "0" } });
}

test("waits for a loading or unreachable server at any request of a run, and reports the reason", () =>
  withModel(async (place) => {
    // Each request of the run fails once, alternately because the connection is refused and because the server is
    // loading.
    const seen = new Set<string>();
    let count = 0;
    const { model, waits, onEvent } = reachedBy(place, (url, { method }) => {
      const key = `${method} ${new URL(url).pathname}`;
      if (seen.has(key)) return null;
      seen.add(key);
      count += 1;
      return count % 2 === 0 ? refused() : unavailable("the model is loaded: 40 %");
    });
    const { rollout } = rollouts();
    const result = await train(model, { ...base, tasks: ["a", "b"], rollout, rounds: 2, onEvent });
    assert.deepEqual([result.step, result.rounds.map(({ failures }) => failures)], [2, [0, 0]]);
    assert.ok(count >= 6, [...seen].join(", "));
    assert.equal(waits().length, count);
    assert.deepEqual(
      new Set(waits()),
      new Set(["the model is loaded: 40 %", "connect ECONNREFUSED 127.0.0.1:8000"]),
    );
  }));

test("ends the run with the reason if the server does not return within serverTimeout, or if a model failed to load", () =>
  withModel(async (place) => {
    let isAway = false;
    const away = reachedBy(place, () => (isAway ? refused() : null));
    const { rollout } = rollouts();
    const options = { ...base, tasks: ["a", "b"], rollout, serverTimeout: 1 };
    await assert.rejects(
      train(away.model, {
        ...options,
        onEvent: (event) => void (isAway ||= event.type === "rollout-ended" && event.ended === 2),
      }),
      {
        name: "HoneError",
        code: "server_unavailable",
        message:
          /^http:\/\/host did not serve for 0 s \(connect ECONNREFUSED 127\.0\.0\.1:8000\)\. Call train again/,
      },
    );
    const failed = reachedBy(place, () =>
      unavailable("no model is left", { tiny: "failed: the file is cut short" }),
    );
    await assert.rejects(train(failed.model, { ...options, serverTimeout: 600_000 }), {
      code: "server_unavailable",
      message: /cannot serve \(the base model tiny: failed: the file is cut short\)/,
    });
  }));

test("repeats a log whose answer was lost only if the log did not arrive", () =>
  withModel(async (place) => {
    for (const arrives of [true, false]) {
      let isLost = false;
      const broken = new TypeError("fetch failed", { cause: new Error("other side closed") });
      const { model } = reachedBy(place, (url, request) => {
        if (isLost || !url.endsWith("/log")) return null;
        isLost = true;
        return arrives ? place.model.hone.fetch(url, request).then(() => broken) : broken;
      });
      const { rollout } = rollouts();
      const before = (await place.model.trajectories({ split: "train" }).all()).length;
      const run = `arrives ${arrives}`;
      const [round] = (await train(model, { ...base, tasks: ["a"], rollout, run })).rounds;
      assert.equal(round?.metrics["train/reward"], 0.5);
      assert.equal((await place.model.trajectories({ split: "train" }).all()).length, before + 2);
    }
  }));

test("warns each of two processes that train the same model", () =>
  withModel(async ({ model }) => {
    const { rollout } = rollouts();
    const warnings: string[][] = [];
    const run = (name: string, between?: () => Promise<unknown>) =>
      train(model, {
        ...base,
        tasks: ["a"],
        run: name,
        rounds: 2,
        rollout: async (task, trajectory) => {
          const reward = await rollout(task, trajectory);
          await between?.();
          between = undefined;
          return reward;
        },
      });
    const first = await run(
      "one",
      async () => void warnings.push((await run("two")).rounds.flatMap((round) => round.warnings)),
    );
    assert.deepEqual(warnings, [[]]);
    const told = first.rounds.map((round) => round.warnings.join());
    assert.match(
      told[0] ?? "",
      /sampled version 0, and its job made version 3: something else trains this model too/,
    );
    assert.equal(told[1], "");
  }));
