// The optimizer's state as a file: both moments of every adapter matrix, and the number of steps taken.
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { ServiceError, notFound } from "../../domain/service-error.ts";
import { readFloats, readSafetensorsHeader } from "../../model/safetensors.ts";
import { writeSafetensors } from "../../model/write-safetensors.ts";
import { type AdamWState, createAdamWState } from "../adamw.ts";

/** What the file is called beside its adapter. */
export const optimizerFileName = "optimizer.safetensors";

export function writeOptimizerState(file: string, state: AdamWState): void {
  const named = (moments: AdamWState["firstMoments"], suffix: string) =>
    [...moments].map(([name, data]) => ({ name: `${name}.${suffix}`, shape: [data.length], data }));
  const tensors = [
    ...named(state.firstMoments, "first_moment"),
    ...named(state.secondMoments, "second_moment"),
  ];
  writeSafetensors(file, tensors, {
    type: "F32",
    metadata: { format: "pt", step_count: String(state.stepCount) },
  });
}

/**
 * Reads the state that belongs to the given matrices.
 *
 * @throws ServiceError `not_found` when there is no such file, `invalid` when it does not fit the matrices
 */
export function readOptimizerState(file: string, matrices: ReadonlyMap<string, Float32Array>): AdamWState {
  if (!existsSync(file)) throw notFound("optimizer state", basename(file));
  const state = createAdamWState(matrices);
  const { tensors, metadata } = readSafetensorsHeader(file);
  state.stepCount = Number(metadata["step_count"]);
  if (!Number.isSafeInteger(state.stepCount) || state.stepCount < 0) throw unfit(file, "step_count");
  const fill = (moments: AdamWState["firstMoments"], suffix: string): void => {
    for (const [name, data] of moments) {
      const stored = tensors.get(`${name}.${suffix}`);
      if (stored === undefined || stored.byteLength !== data.byteLength)
        throw unfit(file, `${name}.${suffix}`);
      data.set(readFloats(stored));
    }
  };
  fill(state.firstMoments, "first_moment");
  fill(state.secondMoments, "second_moment");
  return state;
}

function unfit(file: string, what: string): ServiceError {
  return new ServiceError({
    code: "invalid",
    message: `The optimizer state ${basename(file)} does not fit its adapter (${what}).`,
  });
}
