// What is left to do when versions are gone from the store: the engines forget their adapters, and the folders go.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { EngineBase } from "./served-bases.ts";

interface Forgotten {
  readonly modelId: string;
  readonly steps: readonly number[];
  readonly dataFolder: string;
  readonly bases: readonly EngineBase[];
}

/** Requests that run on one of the versions go on: an engine reads an adapter once. */
export async function forgetVersions({ modelId, steps, dataFolder, bases }: Forgotten): Promise<void> {
  for (const step of steps) {
    for (const base of bases) base.engine.dropAdapter(`${modelId}:${step}`);
    await rm(join(dataFolder, "adapters", modelId, String(step)), { recursive: true, force: true });
  }
}
