// People who judge which of two answers of a trained model is better, until their server dies. An automatic rule trains
// the model on their judgements; each judgement must be used exactly once.
import { newUuid, type Random } from "../../src/base/domain/random.ts";
import { callReference } from "../../src/base/domain/recordings/call-reference.ts";
import { call, eventually, type RunningServer } from "../running-server.ts";
import { allItems } from "./all-items.ts";

const projectId = "local/p";
/** Time limit in milliseconds until training ends. It is long, because jobs that were killed many times are retried. */
const trainedMs = 600_000;

/** Two answers to one question, and the judgements on them. */
interface Rated {
  /** How often both answers were judged, at most. It may be less, because a judgement may be lost in a kill. */
  judgedCount: number;
  /** True if the last judgement was acknowledged. Only then one answer is certainly better. */
  isSettled: boolean;
}

export interface ThumbReport {
  readonly jobIds: readonly string[];
  /** Number of times that an answer was used for training, summed over all answers. */
  readonly trainedCount: number;
  /** Descriptions of errors. */
  readonly faults: readonly string[];
}

export class ThumbGivers {
  readonly #modelId: string;
  readonly #ruleId: string;
  readonly #random: Random;
  /** Rated pairs of answers, keyed by their request id. */
  readonly #rated = new Map<string, Rated>();
  #askedCount = 0;

  private constructor(modelId: string, ruleId: string, random: Random) {
    this.#modelId = modelId;
    this.#ruleId = ruleId;
    this.#random = random;
  }

  /** Creates the rule. It trains the model of the project `p` on each judged pair of answers as soon as possible. */
  static async open(server: RunningServer, modelId: string, random: Random): Promise<ThumbGivers> {
    const rule = await ask(server, "POST", "/v1/preview/reward-rules", {
      project: "p",
      name: "thumbs",
      terms: [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }],
      standing: { model_id: modelId, groups_min: 1, seconds_between: 0, jobs_per_day: 10_000 },
    });
    return new ThumbGivers(modelId, rule.id, random);
  }

  /** Resolves when the server has died. */
  async write(server: RunningServer): Promise<void> {
    await Promise.all([this.#repeat(server), this.#repeat(server)]);
  }

  /**
   * Requests two answers to a question and judges which one is better.
   *
   * @throws BrokenOff if the server dies
   */
  async rate(server: RunningServer): Promise<void> {
    this.#askedCount += 1;
    const requestId = newUuid();
    const better = this.#random.index(2);
    const messages = [{ role: "user", content: `question ${this.#askedCount}` }];
    const sampling = { n: 2, max_tokens: 4, temperature: 1, seed: this.#askedCount };
    await ask(server, "POST", "/v1/chat/completions", {
      model: this.#modelId,
      messages,
      ...sampling,
      request_id: requestId,
    });
    // On a slow disk, an answer arrives before it is recorded. Checks whether it has been recorded.
    const { status } = await call(server, "GET", `/v1/chat/completions/${requestId}`).catch(brokenOff);
    if (status !== 200) return;
    const rated: Rated = { judgedCount: 1, isSettled: false };
    this.#rated.set(requestId, rated);
    for (const choice of [0, 1])
      await ask(server, "POST", "/feedback/create", thumb(requestId, choice, choice === better));
    rated.isSettled = true;
    if (this.#random.uniform() < 0.3) await this.#changeMind(server, requestId, 1 - better, rated);
  }

  /** Waits until every judgement has been used for training, and compares the training data with the judgements. */
  async check(server: RunningServer): Promise<ThumbReport> {
    await eventually(
      "what was said is trained",
      async () => ((await this.#isTrained(server)) ? true : null),
      trainedMs,
    );
    const jobs = await allItems(server, jobsPath);
    const faults: string[] = jobs
      .filter(({ state }) => state !== "succeeded")
      .map(({ id, state, error_message: message }) => `job ${id} ${state}: ${message}`);
    const steps = await this.#steps(server);
    if (steps.length !== jobs.length + 1) faults.push(`${steps.length} versions of ${jobs.length} jobs`);
    const trained = await this.#trainedAnswers(server, steps);
    const trainedCount = [...trained.values()].reduce((sum, count) => sum + count, 0);
    for (const [requestId, { judgedCount }] of this.#rated)
      for (const answer of answersOf(requestId)) {
        const count = trained.get(answer) ?? 0;
        trained.delete(answer);
        if (count > judgedCount)
          faults.push(`${answer} trained ${count} times, and was judged ${judgedCount} times`);
      }
    for (const answer of trained.keys()) faults.push(`${answer} trained, and nobody judged it`);
    return { jobIds: jobs.map(({ id }) => id), trainedCount, faults };
  }

  async #repeat(server: RunningServer): Promise<void> {
    try {
      for (;;) await this.rate(server);
    } catch (error) {
      if (!(error instanceof BrokenOff)) throw error;
    }
  }

  async #changeMind(server: RunningServer, requestId: string, better: number, rated: Rated): Promise<void> {
    rated.judgedCount += 1;
    // Until both thumbs are stored, neither answer is better, so the pair is not used for training.
    rated.isSettled = false;
    for (const choice of [0, 1]) {
      const { id, ...item } = thumb(requestId, choice, choice === better);
      await ask(server, "POST", "/feedback/replace", { ...item, feedback_id: id });
    }
    rated.isSettled = true;
  }

  async #isTrained(server: RunningServer): Promise<boolean> {
    const { state } = await ask(server, "GET", `/v1/preview/reward-rules/${this.#ruleId}`);
    if (state.status !== "collecting") {
      if (state.status === "paused") throw new Error(`the rule is paused: ${state.reason}`);
      return false;
    }
    const trained = await this.#trainedAnswers(server, await this.#steps(server));
    return [...this.#rated].every(
      ([requestId, { isSettled }]) =>
        !isSettled || answersOf(requestId).every((answer) => trained.has(answer)),
    );
  }

  async #steps(server: RunningServer): Promise<readonly number[]> {
    const versions = await allItems(server, `/v1/preview/models/${this.#modelId}/checkpoints`);
    return versions.map(({ step }) => step);
  }

  /** Returns how often each answer was used for training. */
  async #trainedAnswers(server: RunningServer, steps: readonly number[]): Promise<Map<string, number>> {
    const trained = new Map<string, number>();
    for (const step of steps.filter((one) => one > 0)) {
      const path = `/v1/preview/models/${this.#modelId}/checkpoints/${step}/sources`;
      for (const { call: answer, use } of await allItems(server, path))
        if (use === "trained") trained.set(answer, (trained.get(answer) ?? 0) + 1);
    }
    return trained;
  }
}

const jobsPath = "/v1/preview/training-jobs";

/** The server died before it answered. */
class BrokenOff extends Error {}

function brokenOff(cause: unknown): never {
  throw new BrokenOff("The server died.", { cause });
}

/** @throws BrokenOff if the server dies; Error if it refuses */
async function ask(server: RunningServer, method: string, path: string, body?: object): Promise<any> {
  const scheme = path.startsWith("/feedback") ? "Basic" : "Bearer";
  const answer = await call(server, method, path, { body, scheme }).catch(brokenOff);
  if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

function answersOf(requestId: string): readonly string[] {
  return [0, 1].map((choice) => callReference({ projectId, requestId }, choice));
}

function thumb(requestId: string, choice: number, isUp: boolean) {
  return {
    id: `${requestId}-${choice}`,
    project_id: projectId,
    weave_ref: answersOf(requestId)[choice] ?? "",
    feedback_type: "wandb.reaction.1",
    payload: { emoji: isUp ? "👍" : "👎" },
  };
}
