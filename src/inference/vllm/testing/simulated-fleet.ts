// Runs eight servers behind one engine, over HTTP. The servers are stubs as slow as vLLM, which die, hang, fail, drain
// and come back while requests run.
import type { Engine, GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { createFakeEngine } from "../../engine/testing/fake-engine.ts";
import { fakeShape } from "../../engine/testing/fake-runner.ts";
import { requestOf } from "../../engine/testing/run-loop.ts";
import { hashPrefix } from "../replicas/choose-replica.ts";
import { FleetIllness } from "./fleet-illness.ts";
import { FleetShares, type FleetFigures } from "./fleet-shares.ts";
import { recordedLatencies } from "./recorded-latencies.ts";
import type { SentCompletion } from "./stub-completions.ts";
import { StubVllm } from "./stub-vllm.ts";
import { remoteEngine } from "./stubbed-engine.ts";

export interface FleetLoad {
  readonly requestCount: number;
  /** Number of concurrent requests. */
  readonly concurrency: number;
  /** Number of different prompts to draw from; at most 2,500. */
  readonly promptCount: number;
  /** Number of illnesses during the whole run. */
  readonly illnessCount: number;
  /** Number of seconds that a request waits for a server that hangs. */
  readonly firstTokenSeconds: number;
  readonly seed: number;
}

export interface FleetReport extends FleetFigures {
  readonly answeredCount: number;
  /** Number of refused requests, by the code of their error. */
  readonly refusedCounts: Readonly<Record<string, number>>;
  /** Number of answers that differ from those of a single server. */
  readonly wrongCount: number;
}

const serverCount = 8;

/** Number of tokens in each answer. */
const tokenCount = 4;

/** Starts a fleet of servers and runs a load over it. */
export async function simulateFleet(load: FleetLoad): Promise<FleetReport> {
  const stubs = Array.from({ length: serverCount }, (_, server) =>
    createStub(load.seed, server, ({ request_id: id, prompt }) =>
      shares.asked(id, { server, prefix: hashPrefix(requestOf(prompt)) }),
    ),
  );
  const urls = await Promise.all(stubs.map((stub) => stub.start()));
  const shares = new FleetShares(urls);
  const engine = remoteEngine({
    urls,
    vocabularySize: fakeShape.vocabularySize,
    waitingCountMax: load.concurrency,
    // Healthy servers may be slow, because all run in one process. The connect timeout is therefore long. With this
    // probe interval, an illness in the benchmark lasts about ten probes, as in `simulated-choice.ts`.
    settings: { firstTokenSeconds: load.firstTokenSeconds, connectSeconds: 30, lookSeconds: 0.04 },
  });
  const reference = createFakeEngine();
  await Promise.all([engine.start(), reference.start()]);
  try {
    const expected = new Map<number, string>();
    const counts = { answered: 0, wrong: 0, refused: new Map<string, number>() };
    const random = seededRandom("fleet", load.seed);
    const illness = new FleetIllness({ ...load, stubs, random, onDeath: (server) => shares.died(server) });
    let begunCount = 0;
    const client = async (): Promise<void> => {
      while (begunCount < load.requestCount) {
        illness.before(begunCount);
        const index = begunCount++;
        const prompt = random.index(load.promptCount);
        const request = requestOf(promptOf(prompt), { id: `${index}`, maxTokens: tokenCount });
        shares.began(request.id, illness.wellServers());
        const answer = await answerOf(engine, request);
        if (answer instanceof ServiceError) {
          shares.refused(request.id);
          counts.refused.set(answer.code, (counts.refused.get(answer.code) ?? 0) + 1);
          continue;
        }
        shares.answered(request.id);
        const right = expected.get(prompt) ?? (await answerOf(reference, request)).toString();
        expected.set(prompt, right);
        counts.answered += 1;
        if (answer !== right) counts.wrong += 1;
      }
    };
    await Promise.all(Array.from({ length: load.concurrency }, client));
    return {
      answeredCount: counts.answered,
      refusedCounts: Object.fromEntries(counts.refused),
      wrongCount: counts.wrong,
      ...shares.figures(),
    };
  } finally {
    await engine.stop();
    await reference.stop();
    await Promise.all(stubs.map((stub) => stub.stop()));
  }
}

/** Returns the joined token ids of an answer, or the error. */
async function answerOf(engine: Engine, request: GenerationRequest): Promise<string | ServiceError> {
  const ids: number[] = [];
  try {
    for await (const events of engine.submit(request).events)
      for (const event of events) if (event.kind === "tokens") ids.push(...event.tokens.map(({ id }) => id));
    return ids.join();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

function createStub(seed: number, server: number, onRequest: (body: SentCompletion) => void): StubVllm {
  const { vocabularySize, contextLength } = fakeShape;
  return new StubVllm({
    behind: createFakeEngine(),
    vocabularySize,
    contextLength,
    endTokenId: 2,
    logprobCountMax: 20,
    latencies: recordedLatencies(seededRandom("latencies", seed, server)),
    onAsked: (path, body) => {
      // Safe cast: the stub reads the body as the same type.
      if (path === "/v1/completions") onRequest(body as SentCompletion);
    },
  });
}

/** Returns the prompt with a number. No two prompts have the same beginning. */
function promptOf(prompt: number): readonly number[] {
  const token = (digit: number): number => digit + 14;
  return [token(prompt % 50), token(Math.floor(prompt / 50)), 5, 6];
}
