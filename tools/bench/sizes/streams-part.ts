// Measures the private memory of the engine's process: idle, and while it answers several streams.
import { present } from "../../../src/base/domain/assert.ts";
import { childrenUsage } from "../../../src/base/processes/children-usage.ts";
import { seededRandom } from "../../../src/base/domain/random.ts";
import { bytesFigure, type Figure } from "./figure.ts";
import { withIdleServer, type PartOptions } from "./part.ts";
import { servedName, type ServedModel } from "./served-model.ts";
import type { SizedModel } from "./sized-model.ts";

const streamCount = 8;

/** Tokens of each stream, and how many of them are the prompt. */
const [tokenCount, promptLength] = [1000, 256];

/** Goal: these shares of the weights and of the keys and values, plus these bytes. */
const goal = { weights: 0.3, keysAndValues: 1.1, bytes: 200e6 } as const;

export function measureStreams(options: PartOptions): Promise<readonly Figure[]> {
  const { model, say } = options;
  return withIdleServer(options, async (server) => {
    const idle = enginesOf(server);
    server.watch.restart();
    say(`${streamCount} streams of ${tokenCount} tokens`);
    const startMs = performance.now();
    await Promise.all(Array.from({ length: streamCount }, (_, index) => stream(server, model, index)));
    const seconds = (performance.now() - startMs) / 1000;
    server.watch.sample();
    const { children, totalBytes } = server.watch;
    const [id] = busiest(idle, enginesOf(server));
    say("waiting until the server is idle again");
    await server.untilIdle();
    const after = present(enginesOf(server).get(id), "the engine's process");
    const { bytesPerPosition, bytesPerSlot } = model.slot;
    const keyValueBytes = streamCount * (tokenCount * bytesPerPosition + bytesPerSlot);
    const bytesMax = goal.weights * model.weightBytes + goal.keysAndValues * keyValueBytes + goal.bytes;
    const peak = present(children.get(id), "the engine's process").privateBytes;
    return [
      bytesFigure(`engine's highest private memory during ${streamCount} streams`, peak, bytesMax),
      bytesFigure("engine's private memory when idle", present(idle.get(id), "the engine").memoryBytes),
      bytesFigure("engine's private memory when idle after the streams", after.memoryBytes),
      bytesFigure("highest private memory of all processes of the server", totalBytes),
      bytesFigure("weights", model.weightBytes),
      bytesFigure(`keys, values and states of ${streamCount} x ${tokenCount} tokens`, keyValueBytes),
      {
        name: "answered tokens per second, all streams",
        value: (streamCount * (tokenCount - promptLength)) / seconds,
        unit: "tokens/s",
      },
    ];
  });
}

type Engines = ReadonlyMap<number, { readonly memoryBytes: number; readonly cpuSeconds: number }>;

/** Returns the engines of the server by process id; the built-in model has an engine of its own. */
function enginesOf({ id: serverId }: ServedModel): Engines {
  const engines = childrenUsage(serverId).filter(({ module }) => module === "embedded-main");
  return new Map(engines.map((engine) => [engine.id, engine]));
}

/** Returns the engine that has used the most processor time between two looks. */
function busiest(before: Engines, after: Engines): [number, ...unknown[]] {
  const used = (id: number): number =>
    (after.get(id)?.cpuSeconds ?? 0) - (before.get(id)?.cpuSeconds ?? Infinity);
  return [[...after.keys()].reduce((one, other) => (used(other) > used(one) ? other : one))];
}

/** Requests an answer to a prompt of random tokens, and reads the whole stream. */
async function stream({ url, apiKey }: ServedModel, { config }: SizedModel, index: number): Promise<void> {
  const random = seededRandom(`stream ${index}`);
  const answer = await fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: servedName,
      prompt: Array.from({ length: promptLength }, () => random.index(config.vocabularySize)),
      max_tokens: tokenCount - promptLength,
      ignore_eos: true,
      seed: index,
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
  const text = await answer.text();
  const total = /"total_tokens":\s*(\d+)/.exec(text.slice(-2000))?.[1];
  if (Number(total) !== tokenCount)
    throw new Error(`A stream ended with ${total} tokens instead of ${tokenCount}:\n${text.slice(-2000)}`);
}
