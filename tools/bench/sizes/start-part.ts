// Measures two starts of a server: the first one converts the weights, the second one reuses the converted weights.
import { closeSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { bytesFigure, type Figure } from "./figure.ts";
import { diskBytesOf } from "./memory-watch.ts";
import type { PartOptions } from "./part.ts";
import { ServedModel } from "./served-model.ts";

/** Goal of a second start: these seconds, plus these seconds per gigabyte of weights. */
const [readySecondsMax, readySecondsPerGbMax] = [1, 0.5];

/** A first start may take longer than a second one by this many times the time of reading the file. */
const readCountMax = 1.5;

export async function measureStart(options: PartOptions): Promise<readonly Figure[]> {
  const { model, dataFolder, say } = options;
  say("reading the model's files");
  const readSeconds = readSecondsOf(model.weightFiles);
  const cache = join(dataFolder, "cache");
  rmSync(cache, { recursive: true, force: true });
  say("first start");
  // Idle work after the first start may still arrange the weights.
  const first = await startOnce(options, { isKeptUntilIdle: true });
  const cacheBytes = diskBytesOf(cache);
  say("second start");
  const second = await startOnce(options);
  const fileBytes = model.weightFiles.reduce((sum, file) => sum + statSync(file).size, 0);
  const secondMax = readySecondsMax + (readySecondsPerGbMax * model.weightBytes) / 1e9;
  return [
    seconds("second start, until ready", second.readySeconds, secondMax),
    seconds("second start, processor time until ready", second.cpuSeconds),
    seconds("first start, until ready", first.readySeconds, second.readySeconds + readCountMax * readSeconds),
    seconds("first start, processor time until ready", first.cpuSeconds),
    seconds("reading the model's files once", readSeconds),
    bytesFigure("first start, highest private memory of all processes until idle", first.totalBytes),
    bytesFigure("first start, highest private memory of a process until idle", first.processBytes),
    bytesFigure("first start, highest disk space of the cache folder until idle", first.folderBytes),
    bytesFigure("cache folder after the first start", cacheBytes),
    bytesFigure("the model's files", fileBytes),
  ];
}

interface Start {
  readonly readySeconds: number;
  readonly cpuSeconds: number;
  readonly totalBytes: number;
  readonly processBytes: number;
  readonly folderBytes: number;
}

async function startOnce(
  { model, ...options }: PartOptions,
  { isKeptUntilIdle = false } = {},
): Promise<Start> {
  const server = await ServedModel.start(model, options);
  if (isKeptUntilIdle) await server.untilIdle();
  const { readySeconds, readyCpuSeconds: cpuSeconds, watch } = server;
  const { totalBytes, folderBytes } = watch;
  const processBytes = Math.max(...[...watch.children.values()].map(({ privateBytes }) => privateBytes));
  await server.stop();
  return { readySeconds, cpuSeconds, totalBytes, processBytes, folderBytes };
}

function seconds(name: string, value: number, max?: number): Figure {
  return {
    name,
    value,
    unit: "s",
    ...(max === undefined ? {} : { goal: { kind: "at most", value: max } as const }),
  };
}

/** Reads files once. The time depends on how much of them the system already has in memory. */
function readSecondsOf(files: readonly string[]): number {
  const startMs = performance.now();
  const buffer = Buffer.alloc(2 ** 23);
  for (const file of files) {
    const descriptor = openSync(file, "r");
    while (readSync(descriptor, buffer) > 0);
    closeSync(descriptor);
  }
  return (performance.now() - startMs) / 1000;
}
