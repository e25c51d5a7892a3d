// The optimizer's state beside its adapter: optimizer.safetensors holds both moments of every matrix, and the
// number of steps taken.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../domain/service-error.ts";
import { readFloats, readSafetensorsHeader } from "../../model/safetensors.ts";
import { writeSafetensors } from "../../model/write-safetensors.ts";
import { type AdamWState, createAdamWState } from "../adamw.ts";

const fileName = "optimizer.safetensors";

/** Writes the state into a version's folder. */
export function writeOptimizerState(folder: string, state: AdamWState): void {
  const named = (moments: AdamWState["firstMoments"], suffix: string) =>
    [...moments].map(([name, data]) => ({ name: `${name}.${suffix}`, shape: [data.length], data }));
  const tensors = [
    ...named(state.firstMoments, "first_moment"),
    ...named(state.secondMoments, "second_moment"),
  ];
  writeSafetensors(join(folder, fileName), tensors, {
    type: "F32",
    metadata: { format: "pt", step_count: String(state.stepCount) },
  });
}

/**
 * Reads the state that belongs to the given matrices; a folder without one (an adapter from elsewhere) starts anew.
 *
 * @throws ServiceError `invalid` when the file does not fit the matrices
 */
export function readOptimizerState(folder: string, matrices: ReadonlyMap<string, Float32Array>): AdamWState {
  const file = join(folder, fileName);
  const state = createAdamWState(matrices);
  if (!existsSync(file)) return state;
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
    message: `${file} does not fit the adapter beside it (${what}); remove the file to start the optimizer anew.`,
  });
}
