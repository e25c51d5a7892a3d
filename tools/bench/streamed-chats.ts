// Streams chats from a server over HTTP for benchmarks. Several streams run concurrently; each starts its next chat
// when its previous one has ended. The rate is the total number of tokens divided by the total time, which includes the
// client's own work.
import { request } from "node:http";
import { systemClock } from "../../src/base/domain/clock.ts";
import type { ServedBuild } from "./served-build.ts";
import { median } from "./median.ts";

/** Number of concurrent streams, total number of chats, and the length of the answers. */
export interface ChatLoad {
  readonly streams: number;
  readonly chats: number;
  /** Length of the shortest and of the longest answer, in tokens; {@link answerLengths} by default. */
  readonly answers?: AnswerLengths;
  /** Returns the question of a chat; by default a request for a story, about 64 tokens long. */
  readonly questionOf?: (index: number) => string;
}

export interface AnswerLengths {
  readonly least: number;
  readonly most: number;
}

export interface LoadResult {
  readonly tokensPerSecond: number;
  /** Processor time of the server's process per token; its engine's process is not counted. */
  readonly cpuMicrosecondsPerToken: number | null;
  /** Processor time of the engine's process per token. */
  readonly engineCpuMicrosecondsPerToken: number | null;
}

/** Answer lengths for a fast model. */
export const answerLengths: AnswerLengths = { least: 96, most: 160 };

/**
 * Returns the length of a chat's answer in tokens. Lengths differ, so that chats that start together end at different
 * times.
 */
export function answerLengthOf(index: number, { least, most }: AnswerLengths = answerLengths): number {
  return least + ((37 * index) % (most - least + 1));
}

/**
 * Runs a load.
 *
 * @param more additional fields of each request body
 */
export async function runLoad(
  server: ServedBuild,
  { streams, chats, answers, questionOf = storyQuestion }: ChatLoad,
  more: Readonly<Record<string, unknown>> = {},
): Promise<LoadResult> {
  const cpuBefore = [server.cpuSeconds(), server.childrenCpuSeconds()];
  const startMs = systemClock.monotonicMs();
  let started = 0;
  let tokenCount = 0;
  const stream = async (): Promise<void> => {
    while (started < chats) {
      const index = started++;
      const { answerTokens } = await streamedChat(server, {
        model: "endless",
        messages: [{ role: "user", content: questionOf(index) }],
        temperature: 1,
        seed: index,
        max_tokens: answerLengthOf(index, answers),
        ...more,
      });
      tokenCount += answerTokens;
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
  const seconds = (systemClock.monotonicMs() - startMs) / 1000;
  const cpuAfter = [server.cpuSeconds(), server.childrenCpuSeconds()];
  const [own, engine] = cpuAfter.map((after, index) => {
    const before = cpuBefore[index];
    return before === null || after === null ? null : (1e6 * (after - before)) / tokenCount;
  });
  return {
    tokensPerSecond: tokenCount / seconds,
    cpuMicrosecondsPerToken: own,
    engineCpuMicrosecondsPerToken: engine,
  };
}

/** Returns the median of the per-round ratios. Each ratio compares two loads that ran one after the other. */
export function medianRatio(
  own: readonly LoadResult[],
  other: readonly LoadResult[],
  figureOf: (result: LoadResult) => number = ({ tokensPerSecond }) => tokensPerSecond,
): number {
  return median(own.map((result, round) => figureOf(result) / figureOf(other[round])));
}

/** Measurements of a streamed chat at the client. */
export interface StreamedChat {
  /** Time from the request to the first token. */
  readonly firstTokenMs: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
}

/** Returns a question with a unique start, so that no cached prefix serves it. */
function storyQuestion(index: number): string {
  const words =
    "Tell me a story about Sam and a cat and a small bird in a small house, and about Ann and a big dog";
  const questions = "What does the cat say to the bird, and what does the dog say to the cat?";
  return `Number ${index}: ${words} in a big house. ${questions}`;
}

/**
 * Streams one chat to its end.
 *
 * @param onChunk called for each piece of data that arrives
 */
export function streamedChat(
  { url, apiKey }: Pick<ServedBuild, "url" | "apiKey">,
  body: Readonly<Record<string, unknown>>,
  { onChunk }: { readonly onChunk?: () => void } = {},
): Promise<StreamedChat> {
  return new Promise((resolve, reject) => {
    const startMs = systemClock.monotonicMs();
    let firstTokenMs: number | null = null;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const sent = request(`${url}/v1/chat/completions`, { method: "POST", headers }, (response) => {
      // Parses only the end of the stream, so that the client costs as little as possible.
      let last: readonly Buffer[] = [];
      response.on("data", (chunk: Buffer) => {
        firstTokenMs ??= systemClock.monotonicMs() - startMs;
        onChunk?.();
        last = [...last.slice(-3), chunk];
      });
      response.on("error", reject);
      response.on("end", () => {
        const tail = Buffer.concat(last).toString();
        const prompt = /"prompt_tokens":\s*(\d+)/.exec(tail);
        const answer = /"completion_tokens":\s*(\d+)/.exec(tail);
        if (prompt === null || answer === null || firstTokenMs === null)
          reject(new Error(`status ${response.statusCode}, no usage at the end of:\n${tail}`));
        else resolve({ firstTokenMs, promptTokens: Number(prompt[1]), answerTokens: Number(answer[1]) });
      });
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }));
  });
}
