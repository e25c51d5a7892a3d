// Compares two ways to get a prompt's KV cache: fetching it from another server, and computing it. Also measures how
// much each way delays running streams. Uses two real servers on the loopback address, and a prompt of about 1,900
// tokens.
import { systemClock } from "../../src/base/domain/clock.ts";
import { endlessLlama135m, endlessModel, removeModel } from "./endless-model.ts";
import { median } from "./median.ts";
import { measureEach, ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";
import { serveBuild, type ServedBuild } from "./served-build.ts";

const help = `Usage: node dist/tools/bench/passed-prompts.js [flags]
Measures the time to one token for a prompt of 1,900 tokens (hone-tiny: 900): with the KV cache fetched from another server that
computed it, and computed without any cached prefix. Also prints the longest gap between tokens of two streams that run
meanwhile, and their median gap without such prompts. Runs over HTTP, alternating; ratios are medians of the per-round ratios.
Both servers share the machine's cores.`;

const secret = "a secret of two servers on one machine";
const streamCount = 2;

interface PassedReport {
  readonly name: string;
  readonly promptTokens: number;
  readonly computedMs: number;
  readonly fetchedMs: number;
  /** Time to fetch the KV cache divided by the time to compute it. */
  readonly ratio: number;
  /**
   * Longest time between two tokens of a running stream: while the prompt is computed, and while it is fetched. The
   * third field is the median time between tokens otherwise.
   */
  readonly computedGapMs: number;
  readonly fetchedGapMs: number;
  readonly medianGapMs: number;
}

const models = [
  { size: "135m", name: "llama-135m (random)", make: endlessLlama135m, tokens: 1900 },
  { size: "tiny", name: "hone-tiny", make: endlessModel, tokens: 900 },
] as const;

await runComparingBench<PassedReport>({
  script: import.meta.url,
  help,
  measure: (options) =>
    measureEach(models, options, async ({ name, make, tokens }) => [
      await measurePassed({ name, modelFolder: make(), tokens }, options),
    ]),
  textOf: ({ name, promptTokens, computedMs, fetchedMs, ratio, ...gaps }) =>
    [
      `${name}, a prompt of ${promptTokens} tokens`,
      `  computed ${computedMs.toFixed(0)} ms, fetched ${fetchedMs.toFixed(0)} ms: ratio ${ratio.toFixed(3)}`,
      `  longest gap of ${streamCount} streams meanwhile: computed ${gaps.computedGapMs.toFixed(0)} ms, fetched ${gaps.fetchedGapMs.toFixed(0)} ms; median gap otherwise ${gaps.medianGapMs.toFixed(1)} ms`,
    ].join("\n"),
});

async function measurePassed(
  {
    name,
    modelFolder,
    tokens,
  }: { readonly name: string; readonly modelFolder: string; readonly tokens: number },
  { rounds, threads }: BenchOptions,
): Promise<PassedReport> {
  const share = (more: readonly string[]): Promise<ServedBuild> =>
    serveBuild(ownFolder, { modelFolder, threads, flags: ["--transfer-secret", secret, ...more] });
  const prefilling = await share([]);
  const decoding = await share(["--transfer-peers", prefilling.url]);
  const measured = [];
  for (let round = -1; round < rounds; round++) {
    const body = { prompt: promptOf(round, tokens), model: "endless" };
    const params = await heldBy(prefilling, body);
    const fetched = await timeTo(decoding, { ...body, kv_transfer_params: params, cache_salt: `f${round}` });
    const computed = await timeTo(decoding, { ...body, cache_salt: `c${round}` });
    const beside = await gapsBeside(decoding, async (pause) => {
      const again = await heldBy(prefilling, body);
      await pause("alone");
      await timeTo(decoding, { ...body, kv_transfer_params: again, cache_salt: `g${round}` });
      await pause("fetched");
      await timeTo(decoding, { ...body, cache_salt: `d${round}` });
      await pause("computed");
    });
    // Omits the first round, which waits for sessions and compilation.
    if (round >= 0) measured.push({ fetched, computed, ...beside });
  }
  await Promise.all([prefilling.stop(), decoding.stop()]);
  removeModel(modelFolder);
  return {
    name,
    promptTokens: tokens,
    computedMs: Math.min(...measured.map(({ computed }) => computed)),
    fetchedMs: Math.min(...measured.map(({ fetched }) => fetched)),
    ratio: median(measured.map(({ fetched, computed }) => fetched / computed)),
    computedGapMs: median(measured.map(({ computedGapMs }) => computedGapMs)),
    fetchedGapMs: median(measured.map(({ fetchedGapMs }) => fetchedGapMs)),
    medianGapMs: median(measured.map(({ medianGapMs }) => medianGapMs)),
  };
}

/** Returns `count` token ids, different in each round. */
function promptOf(round: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, place) => (31 * (round + 2) + 7 * place + 5) % 250);
}

async function post(server: ServedBuild, body: object): Promise<Response> {
  return fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${server.apiKey}` },
    body: JSON.stringify(body),
  });
}

/**
 * Makes the server compute a prompt and keep its KV cache. Returns the parameters with which the other server fetches
 * it.
 */
async function heldBy(server: ServedBuild, body: object): Promise<unknown> {
  const answer = await post(server, {
    ...body,
    max_tokens: 1,
    kv_transfer_params: { do_remote_decode: true },
  });
  const { kv_transfer_params: params } = (await answer.json()) as { readonly kv_transfer_params: unknown };
  if (params === null) throw new Error("The prompt is not held.");
  return params;
}

/** Returns the milliseconds until an answer of one token is complete. */
async function timeTo(server: ServedBuild, body: object): Promise<number> {
  const startMs = systemClock.monotonicMs();
  const answer = await post(server, { ...body, max_tokens: 1 });
  const notice = answer.headers.get("x-hone-notice");
  await answer.text();
  if (notice !== null) throw new Error(notice);
  return systemClock.monotonicMs() - startMs;
}

type Part = "alone" | "fetched" | "computed";

/**
 * Measures the gaps between pieces of running streams while each of the given requests runs, and returns them per
 * request.
 */
async function gapsBeside(
  server: ServedBuild,
  ask: (pause: (part: Part) => Promise<void>) => Promise<void>,
): Promise<{ readonly fetchedGapMs: number; readonly computedGapMs: number; readonly medianGapMs: number }> {
  const ending = new AbortController();
  let gaps: number[] = [];
  const streams = Array.from({ length: streamCount }, (_, index) =>
    readGaps(server, index, { signal: ending.signal, take: (gap) => gaps.push(gap) }),
  );
  const parts = new Map<Part, readonly number[]>();
  await systemClock.sleep(300);
  await ask(async (part) => {
    if (part === "alone") {
      gaps = [];
      await systemClock.sleep(1000);
    }
    parts.set(part, gaps);
    gaps = [];
  });
  ending.abort();
  await Promise.all(streams);
  const longest = (part: Part): number => Math.max(0, ...(parts.get(part) ?? []));
  return {
    fetchedGapMs: longest("fetched"),
    computedGapMs: longest("computed"),
    medianGapMs: median(parts.get("alone") ?? []),
  };
}

async function readGaps(
  server: ServedBuild,
  seed: number,
  { signal, take }: { readonly signal: AbortSignal; readonly take: (gapMs: number) => void },
): Promise<void> {
  const body = { model: "endless", prompt: [1 + seed, 2, 3], max_tokens: 400, ignore_eos: true };
  while (!signal.aborted) {
    const answer = await post(server, { ...body, stream: true, seed });
    let lastMs: number | null = null;
    for await (const _ of answer.body ?? []) {
      if (signal.aborted) return;
      const nowMs = systemClock.monotonicMs();
      if (lastMs !== null) take(nowMs - lastMs);
      lastMs = nowMs;
    }
  }
}
