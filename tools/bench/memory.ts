// Measures the private memory of the engine's process, relative to the size of its model's weights, and how long the
// process takes to start. The model is a Llama with 135 million random weights in float32. The process gets the
// environment variables that the server would set; its memory is read from Linux's `/proc`.
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { systemClock } from "../../src/base/domain/clock.ts";
import type { AdapterReference, GenerationRequest } from "../../src/base/domain/generation.ts";
import { plainSampling } from "../../src/base/domain/sampling.ts";
import { packVocabulary } from "../../src/base/domain/vocabulary.ts";
import type { ProcessEngine } from "../../src/inference/engine/ipc/process-engine.ts";
import type { createEmbeddedEngine } from "../../src/inference/engine/embedded-engine.ts";
import { engineMemory } from "../../src/inference/engine/model-swapping/memory-need.ts";
import { engineSettings, type EngineSettings } from "../../src/inference/engine/settings.ts";
import { constraintSettings } from "../../src/inference/engine/token-masks/settings.ts";
import { createLoraAdapter } from "../../src/inference/architectures/lora.ts";
import { writeLoraAdapter } from "../../src/inference/architectures/peft-folder.ts";
import { addToChildEnvironment } from "../../src/apps/server/config.ts";
import { computeEnvironment } from "../../src/inference/onnx/environment.ts";
import { silentLogger } from "../../src/base/telemetry/testing/silent-logger.ts";
import { endlessLlama135m, removeModel } from "./endless-model.ts";
import { llama135m } from "./llama-135m.ts";
import { ownFolder, runComparingBench, type BenchOptions, type Report } from "./run-bench.ts";
import { integerKernels } from "../../src/inference/onnx/integer-kernels.ts";

const help = `Usage: node dist/tools/bench/memory.js [flags]
Starts the engine for a Llama of 135 M random weights in a separate process twice; the second start reuses the cache of the first.
Prints its private memory in megabytes and relative to the size of the weights, and the part not mapped from files: when ready,
after a first chat, after idling, after 16 concurrent chats, after 8 chats with an adapter, and after a prompt of 1,900 tokens
without and with an adapter. Also prints the time until ready, the time to the first token of the first chat, of the first chat
with an adapter and of the long prompts, and the estimated memory relative to the measured peak.`;

/** Time that the engine gets for work that it postpones until it is idle. */
const idleMs = 8000;

interface Stage {
  readonly name: string;
  readonly firstTokenMs: number | null;
  /** Private memory and private anonymous memory, each divided by the size of the weights. */
  readonly privateRatio: number;
  readonly anonymousRatio: number;
  /** Resident memory in bytes, including mapped files. Pages that several processes share are counted only once. */
  readonly bytes: number;
}

interface MemoryReport extends Report {
  readonly firstReadyMs: number;
  readonly readyMs: number;
  readonly readyCpuMs: number;
  readonly weightBytes: number;
  /** Memory that this build estimates, divided by the measured peak. */
  readonly estimateRatio: number;
  readonly stages: readonly Stage[];
}

// Sets the same environment as the server sets for its engine's process.
addToChildEnvironment(computeEnvironment);
await runComparingBench<MemoryReport>({ script: import.meta.url, help, measure, textOf });

async function measure({ against, threads, quantize }: BenchOptions): Promise<readonly MemoryReport[]> {
  const modelFolder = endlessLlama135m();
  try {
    const reports: MemoryReport[] = [];
    for (const [name, folder] of [
      ["here", ownFolder],
      ["there", against],
    ] as const) {
      if (folder !== null)
        reports.push(
          await measureBuild(name, { folder, modelFolder, threads, quantization: quantize ?? "off" }),
        );
    }
    return reports;
  } finally {
    removeModel(modelFolder);
  }
}

async function measureBuild(
  name: string,
  { folder, ...model }: Omit<EngineOptions, "cacheFolder"> & { readonly folder: string },
): Promise<MemoryReport> {
  const module = join(folder, "dist", "src", "inference", "engine", "embedded-engine.js");
  // Safe cast: the other build exports the same name.
  const build = (await import(pathToFileURL(module).href)) as {
    readonly createEmbeddedEngine: typeof createEmbeddedEngine;
  };
  const [cacheFolder, adapterFolder] = ["cache", "adapter"].map((one) =>
    mkdtempSync(join(tmpdir(), `hone-${one}-`)),
  );
  const create = (): ProcessEngine => build.createEmbeddedEngine(loadOf({ ...model, cacheFolder }));
  writeLoraAdapter(adapterFolder, createLoraAdapter(llama135m(), { rank: 8, seed: 1 }), {
    config: llama135m(),
    baseModelName: "endless",
  });
  try {
    const first = create();
    const firstReadyMs = await timed(() => first.start());
    await first.stop();
    const weightBytes = weightBytesOf({ ...model, cacheFolder });
    const engine = create();
    const readyMs = await timed(() => engine.start());
    const readyCpuMs = cpuMsOf(engine.processId);
    const stages: Stage[] = [];
    const stage = (stageName: string, firstTokenMs: number | null): void => {
      stages.push({ name: stageName, firstTokenMs, ...memoryOf(engine.processId, weightBytes) });
    };
    stage("ready", null);
    stage("first chat", await chats(engine, { count: 1, promptLength: 96, adapter: null }));
    await sleep(idleMs);
    stage("idle", null);
    stage("16 chats", await chats(engine, { count: 16, promptLength: 96, adapter: null }));
    const adapter = { id: "bench:1", folder: adapterFolder };
    stage("8 with an adapter", await chats(engine, { count: 8, promptLength: 96, adapter }));
    stage("a long prompt", await chats(engine, { count: 1, promptLength: 1900, adapter: null }));
    stage("a long prompt with an adapter", await chats(engine, { count: 1, promptLength: 1900, adapter }));
    await engine.stop();
    const { modelFolder, quantization, threads } = model;
    const { bytes: estimate } = engineMemory(
      { folder: modelFolder, quantization, kernels: await integerKernels(null) },
      settingsFor(threads),
    );
    const estimateRatio = estimate / Math.max(...stages.map(({ bytes }) => bytes));
    return { name, firstReadyMs, readyMs, readyCpuMs, weightBytes, estimateRatio, stages };
  } finally {
    for (const made of [cacheFolder, adapterFolder]) rmSync(made, { recursive: true });
  }
}

interface EngineOptions {
  readonly modelFolder: string;
  readonly cacheFolder: string;
  readonly threads: number;
  readonly quantization: "off" | "8" | "4";
}

/**
 * Returns the size of the weights in the form that is computed with: the model's own file, or else the files that were
 * derived from it at the first start.
 */
function weightBytesOf({ modelFolder, cacheFolder, quantization }: EngineOptions): number {
  if (quantization === "off") return statSync(join(modelFolder, "model.safetensors")).size;
  const made = readdirSync(cacheFolder).filter((name) => !name.endsWith(".arranged"));
  return Math.max(...made.map((name) => statSync(join(cacheFolder, name)).size));
}

function loadOf({ threads, ...model }: EngineOptions): Parameters<typeof createEmbeddedEngine>[0] {
  const vocabulary = packVocabulary(Array.from({ length: llama135m().vocabularySize }, () => null));
  return {
    ...model,
    vocabulary: async () => vocabulary,
    settings: settingsFor(threads),
    constraints: constraintSettings.with(),
    clock: systemClock,
    logger: silentLogger,
    log: { level: "silent", format: "json" },
  };
}

/** Returns settings with a KV cache that has little more room than the long prompt needs. */
function settingsFor(threads: number): EngineSettings {
  return engineSettings.with({ threads, kvCacheBytesMax: 2 ** 27 });
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startMs = systemClock.monotonicMs();
  await run();
  return systemClock.monotonicMs() - startMs;
}

interface Chats {
  readonly count: number;
  readonly promptLength: number;
  readonly adapter: AdapterReference | null;
}

/** Sends chats concurrently; returns the milliseconds until the first of them has its first token. */
async function chats(engine: ProcessEngine, { count, promptLength, adapter }: Chats): Promise<number> {
  const startMs = systemClock.monotonicMs();
  const firstTokens = Array.from({ length: count }, async (_, index) => {
    let firstMs = Infinity;
    // Uses tokens that occur in no other stage, since the engine caches prefixes.
    const { events } = engine.submit(requestOf(101 * count + index, promptLength, adapter));
    for await (const batch of events)
      if (batch.some(({ kind }) => kind === "tokens"))
        firstMs = Math.min(firstMs, systemClock.monotonicMs() - startMs);
    return firstMs;
  });
  return Math.min(...(await Promise.all(firstTokens)));
}

function requestOf(index: number, promptLength: number, adapter: AdapterReference | null): GenerationRequest {
  const { vocabularySize } = llama135m();
  return {
    id: `chat ${index}`,
    prompt: {
      tokenIds: Array.from({ length: promptLength }, (_, place) => (31 * index + 7 * place) % vocabularySize),
      adapter,
    },
    sampling: { ...plainSampling, temperature: 0.8, seed: index },
    constraint: null,
    stopping: { maxTokens: 32, minTokens: 0, stopTokenIds: [] },
    outputs: { topLogprobCount: null, promptLogprobCount: null },
    choices: { kind: "sample", count: 1 },
    priority: 0,
    cacheOwner: "",
    cacheSalt: null,
  };
}

function memoryOf(
  processId: number | null,
  weightBytes: number,
): Pick<Stage, "privateRatio" | "anonymousRatio" | "bytes"> {
  const text = readFileSync(`/proc/${processId}/smaps_rollup`, "utf8");
  const bytesOf = (name: string): number =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
  return {
    privateRatio: (bytesOf("Private_Clean") + bytesOf("Private_Dirty")) / weightBytes,
    anonymousRatio: bytesOf("Anonymous") / weightBytes,
    bytes: bytesOf("Pss"),
  };
}

/**
 * Returns the processor time of a process in milliseconds. Linux counts it in hundredths of a second, in fields after
 * the process's name in parentheses.
 */
function cpuMsOf(processId: number | null): number {
  const fields = readFileSync(`/proc/${processId}/stat`, "utf8").replace(/^.*\)/s, "").trim().split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

function textOf(report: MemoryReport): string {
  const { name, firstReadyMs, readyMs, readyCpuMs, weightBytes, estimateRatio, stages } = report;
  const megabytes = (ratio: number): string => `${((ratio * weightBytes) / 1e6).toFixed(0)} MB`;
  return [
    `${name}: ready after ${readyMs.toFixed(0)} ms (${readyCpuMs} ms of processor time), at the first start ${firstReadyMs.toFixed(0)} ms`,
    ...stages.map(
      (stage) =>
        `  ${stage.name}: private ${megabytes(stage.privateRatio)}, ${stage.privateRatio.toFixed(2)} of the weights; not mapped from files: ${stage.anonymousRatio.toFixed(2)}` +
        (stage.firstTokenMs === null ? "" : `, first token after ${stage.firstTokenMs.toFixed(0)} ms`),
    ),
    `  estimate relative to the peak, including mapped files: ${estimateRatio.toFixed(2)}`,
  ].join("\n");
}
