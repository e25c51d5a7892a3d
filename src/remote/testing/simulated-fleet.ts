// Eight servers behind one engine, over HTTP: stubs that die, hang, fail and come back while requests run. When they do goes
// by how many requests have begun, not by time.
import type { Engine, GenerationRequest } from "../../domain/generation.ts";
import { seededRandom, type Random } from "../../domain/random.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { createFakeEngine } from "../../engine/testing/fake-engine.ts";
import { fakeShape } from "../../engine/testing/fake-runner.ts";
import { requestOf } from "../../engine/testing/run-loop.ts";
import type { SentCompletion } from "./stub-completions.ts";
import { StubVllm, type StubFault } from "./stub-vllm.ts";
import { remoteEngine } from "./stubbed-engine.ts";

export interface FleetLoad {
  readonly requestCount: number;
  /** So many run at once. */
  readonly concurrency: number;
  /** Among which requests draw theirs; 2,500 at most. */
  readonly promptCount: number;
  /** How often a server falls ill, over the whole. */
  readonly faultCount: number;
  readonly seed: number;
}

export interface FleetReport {
  readonly answeredCount: number;
  /** By their error's code. */
  readonly refusedCounts: Readonly<Record<string, number>>;
  /** Answers that are not what one server by itself answers, token by token. */
  readonly wrongCount: number;
  /** How far the server with the most, or the least, requests is from an even share, in parts of that. */
  readonly unevenness: number;
  /** The part of requests that went to the server that got most of their prompt's. */
  readonly affinity: number;
}

const serverCount = 8;
const completions = "/v1/completions";

const faults: readonly StubFault[] = [
  // Dies: nothing of it answers.
  (_path, request) => {
    request.socket.destroy();
    return true;
  },
  // Hangs, and says that it is well.
  (path) => path === completions,
  // Fails, and says that it is well.
  (path, _request, response) => {
    if (path === completions) response.writeHead(500).end("{}");
    return path === completions;
  },
  // Drains: what it is asked it answers still.
  (path, _request, response) => {
    if (path === "/health") response.writeHead(503).end();
    return path === "/health";
  },
];

/** Runs a load over a fleet that is started for it. */
export async function simulateFleet(load: FleetLoad): Promise<FleetReport> {
  const stubs = Array.from({ length: serverCount }, createStub);
  const urls = await Promise.all(stubs.map((stub) => stub.start()));
  const engine = remoteEngine({
    urls,
    vocabularySize: fakeShape.vocabularySize,
    waitingCountMax: load.concurrency,
    // No more than it takes to see who hangs: what is well may be slow where all runs in one process.
    settings: { firstTokenSeconds: load.faultCount === 0 ? 60 : 3 },
  });
  const alone = createFakeEngine();
  await Promise.all([engine.start(), alone.start()]);
  try {
    const expected = new Map<number, string>();
    const counts = { answered: 0, wrong: 0, refused: new Map<string, number>() };
    const random = seededRandom("fleet", load.seed);
    const illness = fallIll(stubs, load, random);
    let begunCount = 0;
    const client = async (): Promise<void> => {
      while (begunCount < load.requestCount) {
        illness(begunCount);
        const index = begunCount++;
        const prompt = random.index(load.promptCount);
        const request = requestOf(promptOf(prompt), { id: `${index}`, maxTokens: 3 });
        const answer = await answerOf(engine, request);
        if (answer instanceof ServiceError) {
          counts.refused.set(answer.code, (counts.refused.get(answer.code) ?? 0) + 1);
          continue;
        }
        const right = expected.get(prompt) ?? (await answerOf(alone, request)).toString();
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
      ...sharesOf(stubs),
    };
  } finally {
    await engine.stop();
    await alone.stop();
    await Promise.all(stubs.map((stub) => stub.stop()));
  }
}

/** Its token ids, joined; why there are none. */
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

function createStub(): StubVllm {
  const { vocabularySize, contextLength } = fakeShape;
  const limits = { vocabularySize, contextLength, endTokenId: 2, logprobCountMax: 20 };
  return new StubVllm({ behind: createFakeEngine(), ...limits });
}

/** Of its number; no two begin alike. */
function promptOf(prompt: number): readonly number[] {
  const token = (digit: number): number => digit + 14;
  return [token(prompt % 50), token(Math.floor(prompt / 50)), 5, 6];
}

/**
 * One server after the other falls ill, and is well again after half of the time to the next.
 *
 * @returns what is to be told how many requests have begun
 */
function fallIll(
  stubs: readonly StubVllm[],
  { requestCount, faultCount }: FleetLoad,
  random: Random,
): (begunCount: number) => void {
  const every = Math.floor(requestCount / (faultCount + 1));
  return (begunCount) => {
    if (faultCount === 0 || begunCount < every) return;
    if (begunCount % every === 0)
      stubs[random.index(serverCount)].fault = faults[(begunCount / every) % faults.length];
    if (begunCount % every === Math.floor(every / 2)) for (const stub of stubs) stub.fault = () => false;
  };
}

function sharesOf(stubs: readonly StubVllm[]): Pick<FleetReport, "unevenness" | "affinity"> {
  const byPrompt = new Map<string, number[]>();
  const shares = stubs.map(() => 0);
  for (const [index, { asked }] of stubs.entries())
    for (const { path, body } of asked) {
      if (path !== completions) continue;
      // What the stub itself takes it for.
      const { prompt, request_id: id } = body as SentCompletion;
      // What asks a server who it is is no request.
      if (id === "limits") continue;
      const key = prompt.join();
      const counts = byPrompt.get(key) ?? stubs.map(() => 0);
      counts[index] += 1;
      byPrompt.set(key, counts);
      shares[index] += 1;
    }
  const total = shares.reduce((sum, count) => sum + count, 0);
  const even = total / stubs.length;
  const kept = [...byPrompt.values()].reduce((sum, counts) => sum + Math.max(...counts), 0);
  return {
    unevenness: Math.max(...shares.map((count) => Math.abs(count / even - 1))),
    affinity: kept / total,
  };
}
