// Generates the load of tools/bench/gateway in a separate process (load-process) and measures the responses. A load
// either sends requests at a given rate without waiting for answers, or starts many streams at the same time.
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../src/base/domain/clock.ts";
import { seededRandom } from "../../../src/base/domain/random.ts";
import { answerTokens } from "./counted-tokens.ts";

/** Servers that receive the requests, and the form of the requests. */
export interface LoadTarget {
  readonly urls: readonly string[];
  readonly authorization: string;
  /**
   * Form of the requests. In `chat` the server renders the prompt, `completion` has token ids as its prompt, and `vllm`
   * is a completion as a gateway sends it to vLLM.
   */
  readonly form: "chat" | "completion" | "vllm";
}

export interface Load {
  readonly target: LoadTarget;
  /**
   * Mean rate of requests. They start at random times, without waiting for earlier answers. Null starts all at the same
   * time.
   */
  readonly ratePerSecond: number | null;
  readonly requestCount: number;
  readonly answerLength: number;
  readonly seed: number;
}

export interface LoadReport {
  /** Milliseconds from the start of each request to the first bytes of its response, ascending. */
  readonly firstMs: readonly number[];
  /** Milliseconds from the start of each request to the end of its response, ascending. */
  readonly wholeMs: readonly number[];
  /** Number of answers with wrong tokens. */
  readonly wrongCount: number;
  /** Number of requests that were refused or cut off, by error message. */
  readonly failures: Readonly<Record<string, number>>;
  /** Number of answers that arrived in more than one piece. Such an answer was not buffered as a whole on its way. */
  readonly streamedCount: number;
}

const promptLength = 64;

/** Runs a load until all its requests have ended. */
export async function runLoad(load: Load): Promise<LoadReport> {
  const agent = new Agent({ keepAlive: true, scheduling: "lifo", maxSockets: Infinity });
  const times = arrivals(load);
  const startMs = systemClock.monotonicMs() + 20;
  const first: number[] = [];
  const whole: number[] = [];
  const failures: Record<string, number> = {};
  let wrongCount = 0;
  let streamedCount = 0;
  await Promise.all(
    times.map(async (atMs, index) => {
      await sleep(startMs + atMs - systemClock.monotonicMs());
      // Measures from the actual start of the request, because the timer is only precise to a millisecond.
      const fromMs = systemClock.monotonicMs();
      try {
        const { firstMs, lastMs, pieceCount, text, prompt } = await ask(load, index, agent);
        first.push(firstMs - fromMs);
        whole.push(lastMs - fromMs);
        if (pieceCount > 1) streamedCount += 1;
        if (!isRight(text, prompt, load.answerLength)) wrongCount += 1;
      } catch (error) {
        const said = error instanceof Error ? error.message : String(error);
        failures[said] = (failures[said] ?? 0) + 1;
      }
    }),
  );
  agent.destroy();
  const ascending = (figures: number[]): number[] => figures.sort((one, other) => one - other);
  return { firstMs: ascending(first), wholeMs: ascending(whole), wrongCount, failures, streamedCount };
}

/** Returns the start time of each request: a Poisson process (exponential gaps), or all at the same time. */
function arrivals({ ratePerSecond, requestCount, seed }: Load): readonly number[] {
  const random = seededRandom("arrivals", seed);
  let atMs = 0;
  return Array.from({ length: requestCount }, () => {
    if (ratePerSecond !== null) atMs += (-Math.log(1 - random.uniform()) * 1000) / ratePerSecond;
    return atMs;
  });
}

interface Came {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly pieceCount: number;
  readonly text: string;
  /** Token ids of the prompt; null if the answer itself contains them. */
  readonly prompt: readonly number[] | null;
}

function ask(load: Load, index: number, agent: Agent): Promise<Came> {
  const { urls, authorization, form } = load.target;
  const prompt = form === "chat" ? null : promptOf(load.seed, index);
  const body = JSON.stringify(bodyOf(load, index, prompt));
  const path = form === "chat" ? "/v1/chat/completions" : "/v1/completions";
  const headers = { authorization, "content-type": "application/json", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const url = `${urls[index % urls.length]}${path}`;
    const sent = request(url, { agent, method: "POST", headers }, (answer) => {
      const pieces: Buffer[] = [];
      let firstMs = 0;
      answer.on("data", (piece: Buffer) => {
        if (pieces.push(piece) === 1) firstMs = systemClock.monotonicMs();
      });
      answer.on("error", reject);
      answer.on("end", () => {
        const lastMs = systemClock.monotonicMs();
        const text = Buffer.concat(pieces).toString();
        if (answer.statusCode === 200) resolve({ firstMs, lastMs, pieceCount: pieces.length, text, prompt });
        else reject(new Error(`status ${answer.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Returns a prompt that is almost certainly unique, so that no prefix cache is used. */
function promptOf(seed: number, index: number): readonly number[] {
  return Array.from(
    { length: promptLength },
    (_, place) => 100 + ((seed * 7 + index * 13 + place * 31) % 500),
  );
}

function bodyOf(
  { target, answerLength, seed }: Load,
  index: number,
  prompt: readonly number[] | null,
): object {
  const shared = {
    max_tokens: answerLength,
    temperature: 1,
    seed: index,
    stream: true,
    return_token_ids: true,
  };
  if (target.form === "completion") return { ...shared, model: "endless", prompt, ignore_eos: true };
  if (target.form === "vllm") {
    const sampling = { top_p: 1, top_k: 0, min_p: 0, repetition_penalty: 1, frequency_penalty: 0 };
    const ends = { min_tokens: 0, stop_token_ids: [], ignore_eos: true };
    const own = {
      request_id: `${seed} ${index}`,
      n: 1,
      priority: 0,
      cache_salt: "bench",
      presence_penalty: 0,
    };
    return { ...shared, ...sampling, ...ends, ...own, model: "tiny", prompt, skip_special_tokens: false };
  }
  const content = `Number ${seed}, ${index}: what does the cat say to the bird, and what does the dog say?`;
  return { ...shared, model: "endless", messages: [{ role: "user", content }], ignore_eos: true };
}

/** True if a stream contains exactly the tokens of the expected answer, in order. */
function isRight(text: string, sent: readonly number[] | null, answerLength: number): boolean {
  const prompt = sent ?? idsIn(text, /"prompt_token_ids":\s*\[([\d,\s]+)\]/g);
  const came = idsIn(text, /"token_ids":\s*\[([\d,\s]+)\]/g);
  return came.join() === answerTokens(prompt, answerLength).join();
}

function idsIn(text: string, lists: RegExp): readonly number[] {
  return [...text.matchAll(lists)].flatMap(([, list = ""]) => list.split(",").map(Number));
}
